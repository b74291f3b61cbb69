// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRLoop
public import HRTimerCore
import HRTimerLibc

extension LoopSource {
    /// Makes a source for a signal: `handler` is called on the loop's thread with the number of signals since its last call.
    ///
    /// A handler of an actor, as a closure in a global actor's code is, is called on that actor; see `Block`.
    ///
    /// Replaces the process's handler for that signal until the source is invalid and released, and then restores it. Throws
    /// EBUSY if there is a source for the signal already, EINVAL for SIGKILL, SIGSTOP and numbers of no signal, EMFILE or
    /// ENFILE without a descriptor, and EAGAIN without a thread if it needs one: if the calling thread blocks the signal, as all
    /// threads may in a process that was started so, an extra thread receives it. `sigaction(2)` with SA_RESTART, `eventfd(2)`.
    public static func signal(
        _ signal: Int32,
        @_inheritActorContext handler: @escaping @isolated(any) @Sendable (LoopSource, Int) -> Void
    ) throws(TimerError) -> LoopSource {
        let handler = onItsActor(unless: { !$0.isValid }, handler)
        var descriptor: Int32 = -1
        try unsafe check(hrt_signal_open(signal, &descriptor), "watch signal \(signal)")
        let receiver: SignalReceiver?
        do {
            receiver = hrt_signal_is_blocked(signal) ? try SignalReceiver(signal) : nil
        } catch {
            hrt_signal_close(signal)
            throw error
        }
        let owned = OwnedDescriptor(descriptor) { _ in
            receiver?.end()
            hrt_signal_close(signal)
        }
        return LoopSource(descriptor, .readable, owned: owned) { source, _ in
            let count = hrt_signal_take(signal)
            if count > 0 { handler(source, Int(clamping: count)) }
        }
    }
}

/// A thread that receives one signal, which the thread that starts it blocks. It blocks the others that this one blocks: no
/// thread can change another's mask (signal(7)).
private final class SignalReceiver: Sendable {
    private let isOver: Latch
    private let thread: pthread_t
    private let generation = hrt_fork_generation()

    init(_ signal: Int32) throws(TimerError) {
        let isOver = Latch()
        self.isOver = isOver
        thread = try startThread {
            unsafe hrt_thread_set_name("hrt-signal")
            // A signal that comes before this is pending for the process until then.
            var received = sigset_t()
            unsafe sigemptyset(&received)
            unsafe sigaddset(&received, signal)
            unsafe pthread_sigmask(SIG_UNBLOCK, &received, nil)
            isOver.wait()
        }
    }

    /// Returns when the thread has ended. A forked child has no such thread.
    func end() {
        guard generation == hrt_fork_generation() else { return }
        isOver.open()
        pthread_join(thread, nil)
    }
}
#endif
