// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRLoop
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
        let error = unsafe pthread_key_create(&key) { _ in
            enqueue { TimerLoop.main.followMainQueue() }
        }
        return error == 0 ? key : nil
    }()

    /// Notes when the main thread ends. Must be called on the main thread.
    private static func watchMainThread() {
        guard let key = mainThreadsEnd else { fatalError("no thread-specific key is left: pthread_key_create(3)") }
        // Any value but NULL, for which the destructor would not be called. Safe: nothing reads it.
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }
}

/// The state of libdispatch's main queue in the main thread's loop, which serves the queue as one more source.
struct MainQueueWatch: Sendable {
    /// The tag of the main queue's watch. No source has it, since their numbers begin at 1.
    static let tag: UInt64 = 0

    /// The queue's descriptor, which belongs to libdispatch; negative until it was asked for, and where there is none.
    private var descriptor: Int32 = -1
    private var watch: WatchedDescriptors.Watch?
    /// Whether a block of the main queue runs in the loop. A nested run then leaves the queue alone, which is not re-entrant.
    private var isDraining = false
    private var wasJustServed = false

    var isWatched: Bool { watch != nil }

    /// Returns whether the queue can be served now; asks for its descriptor if that is not known yet.
    mutating func open() -> Bool {
        if isDraining { return false }
        if descriptor < 0 { descriptor = hrt_main_queue_descriptor() }
        return descriptor >= 0
    }

    /// Begins or ends watching the queue. Must be called on the loop's thread.
    mutating func toggle(_ waiter: LoopWaiter) {
        if let watch {
            waiter.unwatch(watch)
            self.watch = nil
            return
        }
        watch = waiter.watch(descriptor, UInt32(HRT_READABLE), tag: Self.tag)
        guard watch != nil else {
            fatalError("TimerLoop.main cannot watch the main queue: no memory, or epoll(7)'s max_user_watches reached")
        }
    }

    /// Returns the descriptor to look at before the loop sleeps. Returns nil in the pass after one that served the queue, so
    /// that observers are notified in at least every other pass.
    mutating func descriptorToLookAt() -> Int32? {
        if wasJustServed {
            wasJustServed = false
            return nil
        }
        return descriptor
    }

    /// Begins to serve the queue, and returns its descriptor. Returns nil if a block of the queue runs already.
    mutating func beginDrain() -> Int32? {
        if isDraining { return nil }
        isDraining = true
        return descriptor
    }

    mutating func endDrain() {
        isDraining = false
        wasJustServed = true
    }
}

extension TimerLoop {
    /// Returns whether a run on this thread can serve the main queue.
    func opensMainQueue() -> Bool {
        guard isMain, MainQueue.isMainThread, waiter.failure == nil else { return false }
        return state.withLock { $0.mainQueue.open() }
    }

    /// Returns whether the main queue has work, so that the loop need not notify its observers that it sleeps.
    func isMainQueueReady() -> Bool {
        isMain && (isObserved(.beforeWaiting) || isObserved(.afterWaiting)) && lookAtMainQueue()
    }

    private func lookAtMainQueue() -> Bool {
        let descriptor = state.withLock { $0.servesMainQueue ? $0.mainQueue.descriptorToLookAt() : nil }
        return descriptor.map { !waiter.look(at: $0, for: .readable).isEmpty } ?? false
    }

    /// Runs the main queue's blocks. Returns false if this run does not serve the queue, or if an outer run is doing so.
    func serveMainQueue() -> Bool {
        guard let descriptor = state.withLock({ $0.servesMainQueue ? $0.mainQueue.beginDrain() : nil }) else {
            return false
        }
        hrt_main_queue_drain(descriptor)
        state.withLock { $0.mainQueue.endDrain() }
        return true
    }
}
#endif
