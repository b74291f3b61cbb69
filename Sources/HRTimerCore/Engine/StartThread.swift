#if os(Linux)
import CHRTimer
package import HRTimerLibc

/// Starts a thread that runs `body` and blocks every signal: handlers of the host program run on the host's threads, and no
/// signal delays a timer. Only a thread that is there to receive a signal leaves that one unblocked.
///
/// The caller must join or detach the thread. Throws EAGAIN if the system has no room for another thread, pthread_create(3).
package func startThread(
    receiving signal: Int32? = nil,
    _ body: @escaping @Sendable () -> Void
) throws(TimerError) -> pthread_t {
    final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var blocked = sigset_t()
    var before = sigset_t()
    sigfillset(&blocked)
    // Until the former mask is restored the signal may come to this thread, which is harmless: its handler is installed.
    if let signal { sigdelset(&blocked, signal) }
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

    var thread = pthread_t()
    // Retained here, released by the new thread; released here if no thread was started.
    let context = Unmanaged.passRetained(Body(body))
    let error = pthread_create(
        &thread,
        nil,
        { context in
            Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
            return nil
        },
        context.toOpaque()
    )
    if error != 0 {
        context.release()
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

/// Returns whether `thread`, a former result of `hrt_thread_pointer()`, is the calling thread.
package func isCurrent(_ thread: UnsafeRawPointer) -> Bool { thread == hrt_thread_pointer() }
#endif
