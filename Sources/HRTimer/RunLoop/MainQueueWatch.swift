#if os(Linux)
import CHRTimer

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
