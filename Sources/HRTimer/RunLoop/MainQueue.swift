#if os(Linux)
import CHRTimer
import Dispatch
import HRTimerLibc

/// libdispatch's main queue: whose it is.
///
/// The main thread's, until that ends: by `dispatchMain()`, which an `async` main calls after its first suspension. From then
/// on it is a serial queue as any other, on the threads of libdispatch's pool, and with it the main actor.
package enum MainQueue {
    private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    static var isMainThread: Bool { hrt_thread_id() == getpid() }

    /// Whether the calling thread is where the main actor is: the main thread, which can run nothing any more once the queue
    /// has moved, or one that runs a block of the main queue.
    package static var isHeld: Bool { isCurrent || isMainThread }

    /// Whether the calling thread is in a block of the main queue; true as well of the main thread outside of any queue's.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    /// By its key: each `DispatchQueue.main` is another object on Linux.
    static func isMain(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: key) == true }

    /// Has `TimerLoop.main` hosted by the main queue as soon as that is not the main thread's any more, perhaps at once.
    static func followMoves() {
        // Where libdispatch is of no use nothing can be posted either.
        guard hrt_main_queue_check() == 0 else { return }
        if isMainThread { return watchMainThread() }
        enqueue {
            if isMainThread { watchMainThread() } else { TimerLoop.main.followMainQueue() }
        }
    }

    /// A closure that is given to `DispatchQueue.main.async` itself belongs to the main actor, and asks that actor's executor
    /// whether it is where it should be: not all of them know the main queue once that has left the main thread.
    private static func enqueue(_ block: @escaping @Sendable () -> Void) {
        DispatchQueue.main.async(execute: block)
    }

    /// Has another loop host `TimerLoop.main` that serves the main queue in its place, as Foundation's does under
    /// XCTest: the first loop to run what the queue holds. Nothing more where that is the loop itself, or its host.
    package static func findHost() {
        // Where libdispatch is of no use nothing can be posted, and nobody serves the queue.
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
        // Called by pthread_exit(3), which dispatchMain() calls on the main thread; not by exit(3).
        let error = pthread_key_create(&key) { _ in
            enqueue { TimerLoop.main.followMainQueue() }
        }
        return error == 0 ? key : nil
    }()

    /// On the main thread.
    private static func watchMainThread() {
        guard let key = mainThreadsEnd else { fatalError("no thread-specific key is left: pthread_key_create(3)") }
        // Any value: destructors are called for those that are not NULL.
        pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }
}
#endif
