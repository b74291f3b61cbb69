// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
package import HRTimerLibc

/// Starts a thread that runs `body`. It blocks the signals that the calling thread blocks, and no others: a thread that
/// blocked more would pass that on to children of its handlers, which then cannot be ended by SIGTERM; a crash in a handler
/// would leave no report; profilers by SIGPROF would leave it out. To change the mask around each handler instead would take
/// two system calls a fire, 0.5 µs together, and would help neither profilers nor reports of crashes elsewhere.
///
/// A signal that lands on the thread interrupts its wait, which goes on to the same deadline (`HRT_CALL` in hrt_status.h). That
/// happens to signals sent to this very thread, or while other threads block them: the kernel offers a signal of the process to
/// its main thread first (`complete_signal` in kernel/signal.c).
///
/// The thread has the processors and the timer slack of the calling thread, or, if the library has set these there, the former
/// ones (`hrt_thread_origin`).
///
/// The caller must join or detach the thread. Throws EAGAIN if the system has no room for another thread, pthread_create(3).
package func startThread(_ body: @escaping @Sendable () -> Void) throws(TimerError) -> pthread_t {
    // Safe: the C core's copy is made for one thread, which frees it when it adopts it.
    @safe final class Body {
        let run: @Sendable () -> Void
        let origin = unsafe hrt_thread_origin_copy()
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var thread = pthread_t()
    // Retained here, released by the new thread; released here if no thread was started.
    let body = Body(body)
    let context = unsafe Unmanaged.passRetained(body)
    let error = unsafe pthread_create(
        &thread,
        nil,
        { context in
            let body = unsafe Unmanaged<Body>.fromOpaque(context!).takeRetainedValue()
            unsafe hrt_thread_adopt(body.origin)
            body.run()
            return nil
        },
        unsafe context.toOpaque()
    )
    if error != 0 {
        unsafe context.release()
        unsafe free(UnsafeMutableRawPointer(body.origin))
        throw TimerError(operation: "start a thread", errorNumber: error)
    }
    return thread
}

/// Runs blocking code for an asynchronous function: calls `body` on a new thread, and returns when `body` has returned. If
/// the system has no room for a thread, `body` blocks the calling one.
package func onThreadOfItsOwn(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        do throws(TimerError) {
            let thread = try startThread {
                body()
                continuation.resume()
            }
            pthread_detach(thread)
        } catch {
            body()
            continuation.resume()
        }
    }
}

/// Returns whether `thread` is the calling thread.
package func isCurrent(_ thread: pthread_t) -> Bool {
    pthread_equal(thread, pthread_self()) != 0
}

/// Returns whether `thread`, a former result of `hrt_thread_pointer()`, is the calling thread. Safe: the address is only compared.
@safe package func isCurrent(_ thread: UnsafeRawPointer) -> Bool { unsafe thread == hrt_thread_pointer() }
#endif
