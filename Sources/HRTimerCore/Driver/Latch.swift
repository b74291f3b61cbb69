// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

/// An event that occurs once, for which any number of threads and tasks may wait: `hrt_latch`, a futex and no descriptor.
///
/// In a child of `fork(2)` a latch that was made before counts as open: the thread that was to open it does not exist there.
@safe @usableFromInline package final class Latch: @unchecked Sendable {
    // Sendable: any thread may call the C core's functions. On the heap, since a futex must not move. Safe: the memory lives as long
    // as the latch, and nobody else has its address.
    private let c: UnsafeMutablePointer<hrt_latch>
    private let generation = hrt_fork_generation()
    /// The tasks that wait.
    private let tasks = Locked<[CheckedContinuation<Void, Never>]>([])

    package init() {
        unsafe c = .allocate(capacity: 1)
        unsafe c.initialize(to: hrt_latch())
    }

    deinit {
        unsafe c.deallocate()
    }

    /// Opens the latch for all threads and tasks that wait, and for all that come later. Idempotent. Any thread.
    package func open() {
        unsafe hrt_latch_open(c)
        let tasks = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { task.resume() }
    }

    package var isOpen: Bool { unsafe hrt_latch_is_open(c) || generation != hrt_fork_generation() }

    /// Blocks the calling thread until the latch is open.
    @available(*, noasync)
    package func wait() {
        if isOpen { return }
        if let virtual = CurrentTime.passingBaton { waitInTurn(virtual) }
        if !isOpen { unsafe hrt_latch_wait(c) }
    }

    /// Waits while other threads of the virtual time go on, as long as its clock moves.
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

    /// Returns when the latch is open; no thread blocks meanwhile. The thread that opens the latch resumes the task.
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

/// A list of those who wait for the end of an activity, guarded by a lock of its owner. It is just a nil while nobody waits.
///
///     // A thread that waits:
///     while let latch = state.withLock({ $0.isGoingOn ? $0.waiting.join() : nil }) { latch.wait() }
///     // The thread that ends the activity:
///     let latch = state.withLock { state in state.isGoingOn = false; return state.waiting.release() }
///     latch?.open()
@usableFromInline package struct WaitList: Sendable {
    @usableFromInline var latch: Latch?

    @inlinable @inline(__always)
    package init() {}

    /// Returns the latch to wait for after unlocking: the same one for all who come before it is released.
    package mutating func join() -> Latch {
        if let latch { return latch }
        let made = Latch()
        latch = made
        return made
    }

    /// Returns the latch of those who wait, to be opened after unlocking, or nil. Those who come later get another.
    @inlinable @inline(__always)
    package mutating func release() -> Latch? {
        latch.take()
    }
}
#endif
