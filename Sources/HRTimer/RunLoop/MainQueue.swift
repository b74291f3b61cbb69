#if os(Linux)
import CHRTimer
import Dispatch
import HRTimerLibc

/// libdispatch's main queue, and which thread it belongs to.
///
/// The queue belongs to the main thread until that thread ends, by `dispatchMain()`, which an `async` main calls after its
/// first suspension. From then on the main queue, and with it the main actor, is a serial queue like any other, on the
/// threads of libdispatch's pool.
package enum MainQueue {
    private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    static var isMainThread: Bool { hrt_thread_id() == getpid() }

    /// Whether the calling thread is where the main actor is: the main thread, which can run nothing any more once the queue
    /// has moved, or a thread that runs a block of the main queue.
    package static var isHeld: Bool { isCurrent || isMainThread }

    /// Whether the calling thread is in a block of the main queue. Also true on the main thread outside of any queue's block.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    /// Whether `queue` is the main queue, which is found by its key: on Linux each `DispatchQueue.main` is another object.
    static func isMain(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: key) == true }

    /// Makes the main queue host `TimerLoop.main` as soon as the queue no longer belongs to the main thread, perhaps at once.
    static func followMoves() {
        // Where libdispatch cannot be used, nothing can be submitted either.
        guard hrt_main_queue_check() == 0 else { return }
        if isMainThread { return watchMainThread() }
        enqueue {
            if isMainThread { watchMainThread() } else { TimerLoop.main.followMainQueue() }
        }
    }

    /// Submits `block` to the main queue. A closure passed directly to `DispatchQueue.main.async` would belong to the main
    /// actor, and ask that actor's executor whether it runs in the right place; not all executors know the main queue once
    /// that has left the main thread.
    private static func enqueue(_ block: @escaping @Sendable () -> Void) {
        DispatchQueue.main.async(execute: block)
    }

    /// Finds the loop that serves the main queue, which is the first to run its blocks, and makes it host `TimerLoop.main`.
    /// Under XCTest that is Foundation's loop. Does nothing more if `TimerLoop.main` itself, or its host, serves the queue.
    package static func findHost() {
        // Where libdispatch cannot be used, nothing can be submitted, and nobody serves the queue.
        guard hrt_main_queue_check() == 0 else { return }
        enqueue {
            guard !TimerLoop.main.isRunning else { return }
            do throws(TimerError) {
                try TimerLoop.main.serve(on: .main)
            } catch {
                fatalError("another loop serves the main queue, and cannot host TimerLoop.main: \(error)")
            }
        }
    }

    private static let mainThreadsEnd: pthread_key_t? = {
        var key = pthread_key_t()
        // pthread_exit(3) calls this, and dispatchMain() calls pthread_exit(3) on the main thread. exit(3) does not call it.
        let error = pthread_key_create(&key) { _ in
            enqueue { TimerLoop.main.followMainQueue() }
        }
        return error == 0 ? key : nil
    }()

    /// Notes when the main thread ends. Must be called on the main thread.
    private static func watchMainThread() {
        guard let key = mainThreadsEnd else { fatalError("no thread-specific key is left: pthread_key_create(3)") }
        // Any value but NULL, for which the destructor would not be called.
        pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }
}
#endif
