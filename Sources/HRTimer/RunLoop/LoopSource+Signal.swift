#if os(Linux)
import CHRTimer
public import HRTimerCore

extension LoopSource {
    /// Makes a source for a signal: `handler` is called on the loop's thread with the number of signals since its last call.
    ///
    /// Replaces the process's handler for that signal until the source is invalid and released, and then restores it. Throws
    /// EBUSY if there is a source for the signal already, EINVAL for SIGKILL, SIGSTOP and numbers of no signal, EMFILE or
    /// ENFILE without a descriptor, and EAGAIN without a thread if it needs one. `sigaction(2)` with SA_RESTART, `eventfd(2)`.
    public static func signal(
        _ signal: Int32,
        handler: @escaping @Sendable (LoopSource, Int) -> Void
    ) throws(TimerError) -> LoopSource {
        var descriptor: Int32 = -1
        try check(hrt_signal_open(signal, &descriptor), "watch signal \(signal)")
        let owned = OwnedDescriptor(descriptor) { _ in hrt_signal_close(signal) }
        return LoopSource(descriptor, .readable, owned: owned) { source, _ in
            let count = hrt_signal_take(signal)
            if count > 0 { handler(source, Int(clamping: count)) }
        }
    }
}
#endif
