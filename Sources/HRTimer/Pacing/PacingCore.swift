#if os(Linux)
import HRTimerCore

/// The object that an iterator owns. When it is freed, the iteration over the base ends.
final class PacingHandle<Element: Sendable, Failure: Error>: Sendable {
    let core: PacingCore<Element, Failure>

    init(_ core: PacingCore<Element, Failure>) {
        self.core = core
    }

    deinit {
        core.end()
    }

    /// Starts the task that takes the base's elements. Must be called once.
    func begin<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element == Element, Base.Failure == Failure {
        core.watchOwner()
        core.own(Task { [core] in await core.take(base) })
    }
}

/// One iteration of a `PacedSequence`. A task takes the elements of the base, the gate and at most one alarm decide when
/// they pass, and the consumer gets them in order.
final class PacingCore<Element: Sendable, Failure: Error>: Sendable {
    private enum Ending: Sendable {
        case finished
        case failed(Failure)
    }

    private struct State: Sendable {
        var gate: BurstGate<Element>
        /// The elements that have passed, for the consumer to take.
        var passed: [Element] = []
        var taken = 0
        /// How the iteration ends when all elements have passed; nil while the base goes on.
        var ending: Ending?
        /// Whether the iteration was ended early: the consumer's task was cancelled, the iterator is gone, or the host has
        /// ended.
        var isCut = false
        var consumer: UnsafeContinuation<Void, Never>?
        var task: Task<Void, Never>?
        /// When the alarm expires, `Int64.max` if there is none; its number; and how to disarm it, once that is known.
        var armed_ns = Int64.max
        var number = 0
        var alarm: TimerHost.Alarm?
        /// Waits for the end of the owner, if that is not the host.
        var watch: TimerHost.Alarm?
    }

    private let state: Locked<State>
    /// Measures the periods: the owner or, for the wall clock, whose steps would change a length of time, the shared engine.
    private let host: TimerHost
    /// The host that was given: when it ends, so does the iteration.
    private let owner: TimerHost

    init(_ gate: BurstGate<Element>, _ owner: () -> TimerHost) {
        state = Locked(State(gate: gate))
        let owner = owner()
        self.owner = owner
        let isWall = owner.time.clock == .wall
        host = isWall ? .engine(TimerEngine.shared(in: owner.time.on(.monotonic)).core) : owner
    }

    /// Ends the iteration when the owner ends. Must be called once.
    func watchOwner() {
        guard case .engine(let core) = owner, !owner.isSame(as: host) else { return }
        var request = TimerRequest()
        request.isOwned = true
        let token = core.schedule(.owner(PacingAlarm { [weak self] hasCome in if !hasCome { self?.end() } }), request)
        if token == .stale { return end() }
        let isCut = state.withLock { state in
            state.watch = .engine(token)
            return state.isCut
        }
        if isCut { _ = core.cancel(token) }
    }

    private var now_ns: Int64 { host.time.now_ns }

    func own(_ task: Task<Void, Never>) {
        let isCut = state.withLock { state in
            state.task = task
            return state.isCut
        }
        if isCut { task.cancel() }
    }

    /// The work that a change leaves to be done without the lock.
    private struct After {
        var consumer: UnsafeContinuation<Void, Never>?
        var toDisarm: TimerHost.Alarm?
        var toArm: (deadline_ns: Int64, number: Int)?
    }

    private func change(_ body: (inout State) -> Void) {
        let after = state.withLock { state in
            body(&state)
            return follow(&state)
        }
        after.consumer?.resume()
        if let alarm = after.toDisarm { host.disarm(alarm) }
        if let (deadline_ns, number) = after.toArm { arm(deadline_ns, number) }
    }

    /// Decides whether to resume the consumer, and how to move the alarm. Must be called with the lock held. Where it is
    /// cheaper, an alarm that is armed too early stays, and checks again when it expires.
    private func follow(_ state: inout State) -> After {
        var after = After()
        if state.isCut || state.ending != nil || state.taken < state.passed.count {
            let isDone = state.isCut || state.taken < state.passed.count || state.gate.wake_ns == .max
            if isDone { after.consumer = state.consumer.take() }
        }
        let wake_ns = state.isCut ? .max : state.gate.wake_ns
        if wake_ns == state.armed_ns || wake_ns > state.armed_ns && defersMoves && wake_ns < .max { return after }
        after.toDisarm = state.alarm.take()
        state.armed_ns = wake_ns
        state.number += 1
        if wake_ns < .max { after.toArm = (wake_ns, state.number) }
        return after
    }

    private var defersMoves: Bool {
        if case .engine(let core) = host { return core.defersMoves }
        return false
    }

    private func arm(_ deadline_ns: Int64, _ number: Int) {
        let alarm = PacingAlarm { [self] hasCome in
            if hasCome { expire(number) } else { hostHasEnded(number) }
        }
        let armed = alarm.arm(HostAlarm.Request(deadline_ns: deadline_ns), on: host)
        let isPresent = state.withLock { state in
            guard state.number == number, state.armed_ns == deadline_ns else { return false }
            state.alarm = armed
            return true
        }
        // Another alarm is armed, or this one has expired.
        if !isPresent { host.disarm(armed) }
    }

    private func expire(_ number: Int) {
        change { state in
            guard state.number == number else { return }
            state.armed_ns = .max
            state.alarm = nil
            if let element = state.gate.expire(at: now_ns) { state.passed.append(element) }
        }
    }

    /// Ends the iteration if the alarm with that number is still armed. A loop reports each alarm that it drops: the report
    /// of an alarm that has expired, or that was disarmed, means nothing.
    private func hostHasEnded(_ number: Int) {
        if state.withLock({ $0.number == number && $0.armed_ns < .max }) { end() }
    }

    /// Ends the iteration for good: the consumer gets nothing any more.
    func end() {
        var left: [Element] = []
        var waiting: Element?
        var task: Task<Void, Never>?
        var watch: TimerHost.Alarm?
        change { state in
            state.isCut = true
            watch = state.watch.take()
            waiting = state.gate.reset()
            swap(&left, &state.passed)
            state.taken = 0
            task = state.task.take()
        }
        task?.cancel()
        if let watch { owner.disarm(watch) }
        withExtendedLifetime((left, waiting)) {}
    }
}

// The task that takes the base's elements.
extension PacingCore {
    func take<Base: AsyncSequence>(_ base: Base) async where Base.Element == Element, Base.Failure == Failure {
        var iterator = base.makeAsyncIterator()
        do throws(Failure) {
            while let element = try await iterator.next(isolation: nil) {
                if !receive(element) { return }
            }
            finish(.finished)
        } catch {
            finish(.failed(error))
        }
    }

    /// Takes an element of the base. Returns false if nobody wants more.
    private func receive(_ element: Element) -> Bool {
        var dropped: Element?
        var isWanted = true
        if host.hasEnded || owner.hasEnded { end() }
        change { state in
            isWanted = !state.isCut
            if isWanted { state.gate.receive(element, at: now_ns, &state.passed, dropped: &dropped) }
        }
        return isWanted
    }

    private func finish(_ ending: Ending) {
        var dropped: Element?
        change { state in
            state.ending = ending
            if case .failed = ending {
                dropped = state.gate.reset()
            } else if state.gate.passesAtEnd, let element = state.gate.flush(at: now_ns) {
                state.passed.append(element)
            }
        }
        withExtendedLifetime(dropped) {}
    }
}

// The consumer's part.
extension PacingCore {
    private enum Next {
        case element(Element)
        case ended(Ending)
        case nothing
    }

    func next(isolation: isolated (any Actor)?) async throws(Failure) -> Element? {
        while true {
            if Task.isCancelled { end() }
            switch takeNext() {
            case .element(let element): return element
            case .ended(.finished): return nil
            case .ended(.failed(let error)):
                // Thrown once: after an error the sequence has ended.
                state.withLock { $0.ending = .finished }
                throw error
            case .nothing: await wait(isolation: isolation)
            }
        }
    }

    private func takeNext() -> Next {
        // Freed without the lock.
        var taken: [Element] = []
        defer { withExtendedLifetime(taken) {} }
        return state.withLock { state in
            if state.taken < state.passed.count {
                let element = state.passed[state.taken]
                state.taken += 1
                // The elements that were taken are removed with the last one, or when they are half of many.
                if state.taken == state.passed.count || state.taken >= max(64, state.passed.count / 2) {
                    taken = Array(state.passed.prefix(state.taken))
                    state.passed.removeFirst(state.taken)
                    state.taken = 0
                }
                return .element(element)
            }
            if state.isCut { return .ended(.finished) }
            if let ending = state.ending, state.gate.wake_ns == .max { return .ended(ending) }
            return .nothing
        }
    }

    private func wait(isolation: isolated (any Actor)?) async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                // Unsafe: the thread that takes it out of the state resumes it, once.
                change { state in state.consumer = continuation }
            }
        } onCancel: {
            end()
        }
    }
}

// Sendable: its member is constant.
private final class PacingAlarm: HostAlarm, @unchecked Sendable {

    private let body: @Sendable (_ hasCome: Bool) -> Void

    init(_ body: @escaping @Sendable (_ hasCome: Bool) -> Void) {
        self.body = body
        super.init()
    }

    override func deadlineHasCome() { body(true) }
    override func hostHasEnded() { body(false) }
}
#endif
