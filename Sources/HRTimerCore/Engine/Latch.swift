#if os(Linux)
import CHRTimer

/// Something that comes once, for which any number of threads wait: `hrt_latch`, a futex and no descriptor.
///
/// In a child of `fork(2)` a latch that was made before counts as open: the thread that was to open it is not there.
@usableFromInline package final class Latch: @unchecked Sendable {
    // Sendable: the C core's functions are for any thread. On the heap, since a futex must not move.
    private let c: UnsafeMutablePointer<hrt_latch>
    private let generation = hrt_fork_generation()
    /// Tasks that wait.
    private let tasks = Locked<[CheckedContinuation<Void, Never>]>([])

    package init() {
        c = .allocate(capacity: 1)
        c.initialize(to: hrt_latch())
    }

    deinit {
        c.deallocate()
    }

    /// Lets all through that wait, and those that come later. Idempotent. Any thread.
    package func open() {
        hrt_latch_open(c)
        let tasks = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { task.resume() }
    }

    package var isOpen: Bool { hrt_latch_is_open(c) || generation != hrt_fork_generation() }

    /// Blocks the calling thread until it is open.
    @available(*, noasync)
    package func wait() {
        if isOpen { return }
        if let virtual = CurrentTime.passingBaton { waitInTurn(virtual) }
        if !isOpen { hrt_latch_wait(c) }
    }

    /// Lets others of a virtual time go on meanwhile, as long as that moves.
    private func waitInTurn(_ virtual: any VirtualTime) {
        let waiter = Waiting(self)
        while !isOpen {
            switch virtual.wait(until: .max, for: .max, waiter) {
            case .moved, .found: continue
            case .nothing, .over: return
            }
        }
    }

    private final class Waiting: VirtualWaiter {
        private let latch: Latch

        init(_ latch: Latch) {
            self.latch = latch
        }

        var isWoken: Bool { latch.isOpen }
        func look() -> VirtualWait.Found? { latch.isOpen ? .init(isWoken: true, isReady: false) : nil }
    }

    /// Returns when it is open; no thread blocks meanwhile. The thread that opens it resumes the task.
    package func opened() async {
        if isOpen { return }
        await withCheckedContinuation { continuation in
            let isOpen = tasks.withLock { tasks in
                if self.isOpen { return true }
                tasks.append(continuation)
                return false
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// Who waits for the end of something that goes on, under a lock of its owner's: nothing but a nil while nobody does.
///
///     // Who waits:
///     while let latch = state.withLock({ $0.isGoingOn ? $0.waiting.join() : nil }) { latch.wait() }
///     // Who ends it:
///     let latch = state.withLock { state in state.isGoingOn = false; return state.waiting.release() }
///     latch?.open()
@usableFromInline package struct WaitList: Sendable {
    @usableFromInline var latch: Latch?

    package init() {}

    /// The latch to wait for once the lock is let go: the same one for all who come before it is released.
    package mutating func join() -> Latch {
        if let latch { return latch }
        let made = Latch()
        latch = made
        return made
    }

    /// The latch of those who wait, to be opened once the lock is let go, if there are any. Who comes from now on gets another.
    @inlinable @inline(__always)
    package mutating func release() -> Latch? {
        latch.take()
    }
}
#endif
