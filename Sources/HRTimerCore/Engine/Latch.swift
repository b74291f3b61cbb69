import CHRTimer

/// Something that comes once, for which any number of threads wait: `hrt_latch`, a futex and no descriptor.
///
/// In a child of `fork(2)` a latch that was made before has come: whoever was to open it is not there.
package final class Latch: @unchecked Sendable {
    // Sendable: the C core's functions are for any thread. On the heap, since a futex must not move.
    private let c: UnsafeMutablePointer<hrt_latch>
    private let generation = hrt_fork_generation()

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
    }

    package var isOpen: Bool { hrt_latch_is_open(c) || generation != hrt_fork_generation() }

    /// Blocks the calling thread until it is open.
    @available(*, noasync)
    package func wait() {
        if generation == hrt_fork_generation() { hrt_latch_wait(c) }
    }

    /// Returns when it is open; a thread made for that blocks meanwhile.
    package func opened() async {
        if isOpen { return }
        await onThreadOfItsOwn { self.wait() }
    }
}

/// Who waits for the end of something that goes on, under a lock of its owner's: nothing but a nil while nobody does.
///
///     // Who waits:
///     while let latch = state.withLock({ $0.isGoingOn ? $0.waiting.join() : nil }) { latch.wait() }
///     // Who ends it:
///     let latch = state.withLock { state in state.isGoingOn = false; return state.waiting.release() }
///     latch?.open()
package struct WaitList: Sendable {
    private var latch: Latch?

    package init() {}

    /// The latch to wait for once the lock is let go: the same one for all who come before it is released.
    package mutating func join() -> Latch {
        if let latch { return latch }
        let made = Latch()
        latch = made
        return made
    }

    /// The latch of those who wait, to be opened once the lock is let go, if there are any. Who comes from now on gets another.
    package mutating func release() -> Latch? {
        latch.take()
    }
}
