// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// Drives one debounce or throttle: it gives the gate elements and the time, has its timer armed for the element that waits, and
/// keeps what has passed, in order, until that is taken.
///
/// `PacedCalls` takes it for a handler, `PacedIteration` for the consumer of a sequence. The timer holds this object until `end` or
/// `close`.
final class Pacer<Element: Sendable>: HostAlarm {
    private enum Phase: Sendable {
        /// Elements come.
        case open
        /// No more elements come. Those that wait or have passed can still be taken.
        case closing
        /// Nothing can be taken any more.
        case ended
    }

    private struct State: Sendable {
        var gate: BurstGate<Element>
        var phase = Phase.open
        /// The elements that have passed: the older ones, in reverse, and those that came since.
        var older: [Element] = []
        var passed: [Element] = []
        /// How to wake the taker, while it waits for an element.
        var wake: Callback?
        /// The host's timer, and what it is armed for; `Int64.max` for nothing.
        var timer: HostTimer?
        var armed_ns = Int64.max
        /// A timer that is never armed, by which the owner tells of its end, if it is not the host.
        var watch: HostTimer?

        var hasPassed: Bool { !older.isEmpty || !passed.isEmpty }
        var isOver: Bool { phase == .ended || phase == .closing && !hasPassed && gate.wake_ns == .max }

        /// Returns all elements, to be dropped, and ends the period.
        mutating func removeAll() -> [Element] {
            defer { (older, passed) = ([], []) }
            return older + passed + (gate.reset().map { [$0] } ?? [])
        }
    }

    /// The host is asked to move the timer with the lock held: of two threads the later one's deadline stays. Nothing else is
    /// called, and no element is freed, with it held.
    private let state: Locked<State>
    /// The host that was given: when it ends, nothing passes any more.
    private let owner: any TimerHost
    /// Measures the periods: the owner or, for the wall clock, whose steps would change a length of time, the shared engine.
    private let host: any TimerHost

    init(_ gate: BurstGate<Element>, on owner: any TimerHost) {
        state = Locked(State(gate: gate))
        self.owner = owner
        let isWall = owner.time.clock == .wall
        host = isWall ? AnyTimerEngine.shared(on: owner.time.on(.monotonic)).core : owner
        var request = TimerRequest()
        request.isOwned = true
        let timer = host.arm(self, request)
        let watch = isWall ? owner.arm(self, request) : nil
        let isOver = state.withLock { state in
            (state.timer, state.watch) = (timer, watch)
            return state.isOver
        }
        // A host has ended since.
        if isOver { end() }
    }

    private var hasEnded: Bool { host.hasEnded || owner.hasEnded }

    /// Changes the state, moves the timer accordingly, and wakes the taker if there is something to take.
    @discardableResult
    private func change<Result>(_ body: (inout State, _ now_ns: Int64) -> Result) -> Result {
        let (result, wake) = state.withLock { state -> (Result, Callback?) in
            let result = body(&state, host.time.now_ns)
            if let timer = state.timer, state.armed_ns != state.gate.wake_ns {
                state.armed_ns = state.gate.wake_ns
                host.move(timer, to: state.armed_ns)
            }
            return (result, state.hasPassed || state.isOver ? state.wake.take() : nil)
        }
        wake?.run()
        return result
    }

    func deadlineHasCome() {
        change { state, now_ns in
            if let element = state.gate.expire(at: now_ns) { state.passed.append(element) }
        }
    }

    /// A loop also says so when the timer is disarmed.
    func coreHasEnded() { if hasEnded { end() } }
}

// Elements come.
extension Pacer {
    /// Gives the gate an element. Returns false if no more are wanted.
    @discardableResult
    func send(_ element: Element) -> Bool {
        if hasEnded { end() }
        var dropped: Element?
        return change { state, now_ns in
            guard state.phase == .open else { return false }
            state.gate.receive(element, at: now_ns, &state.passed, dropped: &dropped)
            return true
        }
    }

    /// Passes the element that waits, if one does, as at the end of its period.
    func flush() {
        change { state, now_ns in
            if let element = state.gate.flush(at: now_ns) { state.passed.append(element) }
        }
    }

    /// Drops the elements that wait or have passed, and ends the period.
    func discard() {
        let dropped = change { state, _ in state.removeAll() }
        withExtendedLifetime(dropped) {}
    }

    /// No more elements come. After those that have passed, `last` does, in place of the element that waits. If it is nil, that
    /// element passes, in its time.
    func finish(with last: Element? = nil) {
        var dropped: Element?
        change { state, now_ns in
            guard state.phase == .open else { return }
            state.phase = .closing
            if let last {
                dropped = state.gate.reset()
                state.passed.append(last)
            } else if state.gate.passesAtEnd, let element = state.gate.flush(at: now_ns) {
                state.passed.append(element)
            }
        }
        withExtendedLifetime(dropped) {}
    }
}

// Elements are taken, one after the other.
extension Pacer {
    /// Takes the next element that has passed; nil if there is none.
    func take() -> Element? {
        if hasEnded { end() }
        return state.withLock { state in
            if state.older.isEmpty {
                swap(&state.older, &state.passed)
                state.older.reverse()
            }
            return state.older.popLast()
        }
    }

    /// Has `wake` called, once, when there is something to take, or nothing will come any more. Returns false if nothing will.
    func wait(_ wake: @escaping @Sendable () -> Void) -> Bool {
        change { state, _ in
            if state.isOver { return false }
            state.wake = Callback(wake)
            return true
        }
    }

    /// The number of elements that have passed.
    var passedCount: Int { state.withLock { $0.older.count + $0.passed.count } }
    /// Whether an element waits or has passed.
    var isWaiting: Bool { state.withLock { $0.hasPassed || $0.gate.wake_ns < .max } }
    /// Whether there is nothing to take, and nothing will come.
    var isOver: Bool { state.withLock { $0.isOver } }
}

// The end.
extension Pacer {
    /// Ends it for good: all elements are dropped, and nothing comes any more.
    func end() {
        let (dropped, timer, watch, wake) = state.withLock { state in
            state.phase = .ended
            return (state.removeAll(), state.timer.take(), state.watch.take(), state.wake.take())
        }
        if let timer { host.disarm(timer) }
        if let watch { owner.disarm(watch) }
        // Last: the timers are gone when the taker goes on.
        wake?.run()
        withExtendedLifetime(dropped) {}
    }

    /// No more elements come, and the one that waits is dropped; returns whether one did. A taker that waits is forgotten. What has
    /// passed can still be taken.
    @discardableResult
    func close() -> Bool {
        let (dropped, timer, wake) = state.withLock { state in
            if state.phase == .open { state.phase = .closing }
            return (state.gate.reset(), state.timer.take(), state.wake.take())
        }
        if let timer { host.disarm(timer) }
        withExtendedLifetime(wake) {}
        return dropped != nil
    }
}
#endif
