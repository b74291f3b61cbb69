#if os(Linux)
import CHRTimer

/// What the main thread's loop knows of libdispatch's main queue, which it serves as one more source.
struct MainQueueWatch: Sendable {
    /// No source has it: their numbers begin at 1.
    static let tag: UInt64 = 0

    /// libdispatch's; negative until it was asked for, and where there is none.
    private var descriptor: Int32 = -1
    private var watch: WatchedDescriptors.Watch?
    /// A block of the main queue runs in the loop: a run inside of it leaves the queue alone, which is not re-entrant.
    private var isDraining = false
    private var wasJustServed = false

    var isWatched: Bool { watch != nil }

    /// Whether it can be served now.
    mutating func open() -> Bool {
        if isDraining { return false }
        if descriptor < 0 { descriptor = hrt_main_queue_descriptor() }
        return descriptor >= 0
    }

    /// Begins or ends to watch it. The loop's thread.
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

    /// The descriptor to look at before the loop sleeps; nil in the pass after one that served it: observers are
    /// notified in every other pass at least.
    mutating func descriptorToLookAt() -> Int32? {
        if wasJustServed {
            wasJustServed = false
            return nil
        }
        return descriptor
    }

    /// Nil if a block of it runs already.
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
    /// Whether a run on this thread can serve the main queue.
    func opensMainQueue() -> Bool {
        guard isMain, MainQueue.isMainThread, waiter.failure == nil else { return false }
        return state.withLock { $0.mainQueue.open() }
    }

    /// Whether the main queue has something to run, so that the loop need not notify its observers that it sleeps.
    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    func isMainQueueReady() -> Bool {
        isMain && (isObserved(.beforeWaiting) || isObserved(.afterWaiting)) && lookAtMainQueue()
    }

    @inline(never)
    private func lookAtMainQueue() -> Bool {
        let descriptor = state.withLock { $0.servesMainQueue ? $0.mainQueue.descriptorToLookAt() : nil }
        return descriptor.map { !waiter.look(at: $0, for: .readable).isEmpty } ?? false
    }

    /// Runs what the main queue holds. False if a run around this one does.
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
