// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimer

/// What the scheduler's thread waits for while it runs everything else.
struct Pumping {
    /// A loop that runs on this very thread; nil for the test itself.
    var waiter: (any VirtualWaiter)?
    /// The instant at which the waiter wakes, and the deadline that it wakes for.
    var until_ns = Int64.max
    var deadline_ns = Int64.max
    /// Whether the clock stands still, so that only what is ready and due runs.
    var isLastStep = false
    var isDone: (borrowing DeterministicScheduler.State) -> Bool = { _ in false }
}

/// The scheduler's thread.
extension DeterministicScheduler {
    private enum Step {
        case done
        case job(ReadyJob)
        case granted
        case wait(Baton)
        case idle
    }

    /// Runs what is ready and due, and moves the clock when nothing is, until what is waited for has come. Returns `.nothing`
    /// if that cannot come.
    func pump(_ time: ManualTime, _ pumping: Pumping) -> VirtualWait {
        var watch = Watch(patience_ns)
        let outer = begin(nil, 0)
        defer { resume(outer) }
        while true {
            if let waiter = pumping.waiter, waiter.isWoken { return .moved }
            switch state.change({ Self.nextStep(&$0, pumping) }) {
            case .done:
                return .moved
            case .job(let job):
                run(job, time)
                watch.noteStep()
            case .granted:
                watch.noteStep()
            case .wait(let baton):
                awaitEnd(of: baton)
            case .idle:
                if let outcome = idle(time, pumping, &watch) { return outcome }
            }
            if watch.isBusyForLong(at: time.now_ns) {
                fail(.busy, time)
                return .nothing
            }
        }
    }

    private static func nextStep(_ state: inout State, _ pumping: Pumping) -> Step {
        if let baton = state.current {
            if baton.isRunning, !baton.isSlow { return .wait(baton) }
            state.current = nil
        }
        if let job = state.continuing.popLast() { return .job(job) }
        if pumping.isDone(state) { return .done }
        if let baton = state.batons.first(where: \.isWaiting) {
            grant(baton, nil, &state)
            return .granted
        }
        if let job = state.ready.next() {
            state.continued = 0
            return .job(job)
        }
        return .idle
    }

    private static func grant(_ baton: Baton, _ found: VirtualWait.Found?, _ state: inout State) {
        baton.phase = .running
        baton.found = found
        baton.isSlow = false
        state.current = baton
        state.changes += 1
    }

    private func run(_ job: ReadyJob, _ time: ManualTime) {
        note(.task(job.task), time)
        CaughtTasks.keepHook()
        doing(.task(job.task), job.id) { job.run(by: self) }
    }

    private func doing(_ step: TestTime.Event.What, _ id: UInt64 = 0, _ body: () -> Void) {
        let outer = begin(step, id)
        state.withLock { $0.depth += 1 }
        body()
        state.withLock { $0.depth -= 1 }
        resume(outer)
    }

    /// Runs what is due on an engine. An engine that was awake in vain leaves no trace.
    private func run(_ participant: any VirtualTimeParticipant, _ time: ManualTime) {
        let instant = time.now
        let what = TestTime.Event.What.engine(participant.name)
        let (before, move, after) = state.withLock { state in
            let (before, move) = (state.trace.count, state.move.take())
            if let move { state.note(.moved, move.instant) }
            state.note(what, instant)
            return (before, move, state.trace.count)
        }
        var hasCome = false
        doing(what) { hasCome = time.run(participant) }
        state.withLock { state in
            if hasCome || state.trace.count > after {
                if move?.isToDeadline ?? false { state.countMove() }
            } else {
                state.trace.removeSubrange(before...)
                state.move = move
            }
        }
    }

    private typealias Activity = (what: TestTime.Event.What?, id: UInt64)

    /// Returns what the thread was doing before, for `resume`.
    private func begin(_ what: TestTime.Event.What?, _ id: UInt64) -> Activity {
        state.withLock { state in
            state.steps += 1
            defer { (state.step, state.runningID) = (what, id) }
            return (state.step, state.runningID)
        }
    }

    private func resume(_ step: Activity) {
        state.withLock { state in
            state.steps += 1
            (state.step, state.runningID) = (step.what, step.id)
        }
    }

    private func awaitEnd(of baton: Baton) {
        let limit_ns = TimeBase.kernel.now_ns.addingSaturating(slow_ns)
        let hasEnded = state.wait(until: limit_ns) { $0.current !== baton || !baton.isRunning }
        if !hasEnded { state.withLock { _ in baton.isSlow = true } }
    }

    /// The time that work outside virtual time still has before a deadlock fails the test.
    private static let grace_ns: Int64 = 50_000_000

    /// No job is ready, and no thread has or wants the baton. Looks, in this order, for a woken loop, for what is due, for
    /// holds, and for work of the main actor. If it finds none, the time is idle. Returns nil if there is something to do now.
    private func idle(_ time: ManualTime, _ pumping: Pumping, _ watch: inout Watch) -> VirtualWait? {
        let changes = state.withLock(\.changes)
        if grantWhoHasSomething(time) {
            watch.noteStep()
            return nil
        }
        if let found = pumping.waiter?.look() { return .found(found) }
        let now_ns = time.now_ns
        if let next = time.earliestWake(), next.instant_ns <= now_ns {
            run(next.participant, time)
            watch.noteStep()
            return nil
        }
        if pumping.until_ns <= now_ns {
            if pumping.deadline_ns <= now_ns { state.withLock { $0.noteMove() } }
            return .moved
        }
        if grantWhoIsDue(now_ns, time) {
            watch.noteStep()
            return nil
        }
        if state.withLock(\.isEnding) { return .nothing }
        if isHeld {
            if waitForChange(since: changes, &watch, isPolling: pumping.waiter != nil) { return nil }
            fail(.standstill, time)
            return .nothing
        }
        if servesMainActor, watch.quietRounds < Watch.roundsOfMainQueue {
            watch.quietRounds += 1
            if awaitMainQueue() { return nil }
            fail(.standstill, time)
            return .nothing
        }
        if pumping.isLastStep { return .moved }
        return move(time, pumping, changes, &watch)
    }

    private func grantWhoHasSomething(_ time: ManualTime) -> Bool {
        for (baton, _, _, waiter) in parked {
            guard let found = waiter.look() else { continue }
            state.change { Self.grant(baton, found, &$0) }
            note(.baton(baton.name), time)
            return true
        }
        return false
    }

    private func grantWhoIsDue(_ now_ns: Int64, _ time: ManualTime) -> Bool {
        let due = parked.filter { $0.until_ns <= now_ns }.min { $0.until_ns < $1.until_ns }
        guard let due else { return false }
        state.change { Self.grant(due.baton, nil, &$0) }
        // A thread that is awake before its deadline leaves no trace.
        if due.deadline_ns <= now_ns { note(.baton(due.baton.name), time) }
        return true
    }

    var parked: [(baton: Baton, until_ns: Int64, deadline_ns: Int64, waiter: any VirtualWaiter)] {
        state.withLock { state in
            state.batons.compactMap { baton in
                guard case .parked(let until_ns, let deadline_ns, let waiter) = baton.phase else { return nil }
                return (baton, until_ns, deadline_ns, waiter)
            }
        }
    }

    private var isHeld: Bool {
        state.withLock { state in
            !state.holds.isEmpty || state.unmanagedJobs > 0 || state.batons.contains { $0.isRunning }
        }
    }

    /// Returns false if nothing has changed for too long.
    private func waitForChange(since before: Int, _ watch: inout Watch, isPolling: Bool) -> Bool {
        // Only the loop that watches a descriptor learns that the descriptor is ready, so the loop must look itself.
        let slice_ns: Int64 = isPolling || !parked.isEmpty ? 1_000_000 : 50_000_000
        let limit_ns = TimeBase.kernel.now_ns.addingSaturating(slice_ns)
        if state.wait(until: limit_ns, { $0.changes != before }) { watch.noteStep() }
        return !watch.isIdleForLong()
    }

    private func awaitMainQueue() -> Bool {
        let before = state.withLock(\.roundsOfMainQueue)
        afterMainQueue { [state] in
            state.change { $0.roundsOfMainQueue += 1 }
        }
        let limit_ns = TimeBase.kernel.now_ns.addingSaturating(patience_ns)
        return state.wait(until: limit_ns) { $0.roundsOfMainQueue > before }
    }

    // MARK: Moving

    /// The time is idle. Answers a request that the present state answers, or else moves the clock to the earliest deadline of
    /// engines, loops and requests. Returns `.nothing`, and the test fails, if there is none.
    private func move(_ time: ManualTime, _ pumping: Pumping, _ changes: Int, _ watch: inout Watch) -> VirtualWait? {
        let now_ns = time.now_ns
        let parked = parked
        let threads_ns = min(parked.map(\.until_ns).min() ?? .max, pumping.until_ns)
        let others_ns = min(time.earliestWake()?.instant_ns ?? .max, threads_ns)
        // Computed only if a request waits for it: the exact deadline is looked up.
        let isRequested = others_ns < .max && state.withLock { $0.requests.contains { $0.isForDeadline } }
        let ofThreads_ns = min(parked.map(\.deadline_ns).min() ?? .max, pumping.deadline_ns)
        let deadline_ns = isRequested ? min(time.earliestDeadline_ns, ofThreads_ns) : others_ns
        if let (request, answer) = state.withLock({ $0.takeAnswered(now_ns: now_ns, others_ns: deadline_ns) }) {
            request.continuation.resume(returning: answer)
            watch.noteStep()
            return nil
        }
        let target_ns = min(others_ns, state.withLock { $0.requests.map(\.target_ns).min() ?? .max })
        guard target_ns < .max else {
            // Before the test fails, work that virtual time does not see may still report.
            if watch.graceIsOver(min(patience_ns, Self.grace_ns)) { return .nothing }
            _ = waitForChange(since: changes, &watch, isPolling: pumping.waiter != nil)
            return nil
        }
        time.set(target_ns)
        let move = DeterministicScheduler.Move(instant: time.now, isToDeadline: target_ns == others_ns)
        state.withLock { $0.move = move }
        watch.noteStep()
        return nil
    }

    func note(_ what: TestTime.Event.What, _ time: ManualTime) {
        let instant = time.now
        state.withLock { state in
            state.noteMove()
            state.note(what, instant)
        }
    }

    func fail(_ reason: TestTimeFailure.Reason, _ time: ManualTime) {
        let pending = report(time)
        let requests = state.change { state -> [Request] in
            if state.failure == nil {
                state.failure = TestTimeFailure(reason: reason, instant: time.now.description, pending: pending)
            }
            state.changes += 1
            defer { state.requests = [] }
            return state.requests
        }
        for request in requests { request.continuation.resume(returning: .max) }
    }
}

extension DeterministicScheduler.Request {
    /// The instant that the clock must reach for the request; `Int64.max` if none.
    var target_ns: Int64 {
        if case .advance(let to_ns) = kind { return to_ns }
        return .max
    }

    /// Whether the answer depends on the next deadline.
    var isForDeadline: Bool {
        switch kind {
        case .nextSleep, .run: true
        case .idle, .advance: false
        }
    }
}

extension DeterministicScheduler.State {
    /// Removes the first request that the present state answers, while everything is idle, and returns it with the answer.
    mutating func takeAnswered(now_ns: Int64, others_ns: Int64) -> (DeterministicScheduler.Request, Int64)? {
        for (index, request) in requests.enumerated() {
            let answer: Int64? =
                switch request.kind {
                case .idle: now_ns
                case .nextSleep: others_ns < .max ? others_ns : nil
                case .advance(let to_ns): to_ns <= now_ns ? now_ns : nil
                case .run(let limit, let moves): moves >= limit || others_ns == .max ? Int64(moves) : nil
                }
            guard let answer else { continue }
            if case .advance = request.kind { noteMove() }
            return (requests.remove(at: index), answer)
        }
        return nil
    }

    mutating func note(_ what: TestTime.Event.What, _ instant: MonotonicInstant) {
        guard trace.count < TestTime.longestTrace else { return }
        trace.append(TestTime.Event(instant: instant, what: what))
    }

    /// Adds the latest move to the trace, since something happens at its instant.
    mutating func noteMove() {
        guard let move = move.take() else { return }
        note(.moved, move.instant)
        if move.isToDeadline { countMove() }
    }

    mutating func countMove() {
        for index in requests.indices {
            guard case .run(let limit, let moves) = requests[index].kind else { continue }
            requests[index].kind = .run(limit: limit, moves: moves + 1)
        }
    }
}

/// How long real time has gone on without a step.
private struct Watch {
    private let patience_ns: Int64
    private var step_ns = TimeBase.kernel.now_ns
    private var hasStepped = true
    private var steps = 0
    private var instant_ns = Int64.min
    private var instantBegan_ns = Int64.min
    private var graceBegan_ns: Int64?
    /// How many times in a row a pass of the main queue has led to nothing.
    var quietRounds = 0

    /// How many times in a row the main queue is asked before the clock moves: its jobs start others there.
    static let roundsOfMainQueue = 4

    init(_ patience_ns: Int64) {
        self.patience_ns = patience_ns
    }

    mutating func noteStep() {
        steps += 1
        quietRounds = 0
        graceBegan_ns = nil
        hasStepped = true
    }

    /// Returns whether the grace has passed. Called as long as there is nothing to wait for.
    mutating func graceIsOver(_ grace_ns: Int64) -> Bool {
        let now_ns = TimeBase.kernel.now_ns
        if graceBegan_ns == nil { graceBegan_ns = now_ns }
        return now_ns - graceBegan_ns! >= grace_ns
    }

    mutating func isIdleForLong() -> Bool {
        let now_ns = TimeBase.kernel.now_ns
        if hasStepped { step_ns = now_ns }
        hasStepped = false
        return now_ns - step_ns > patience_ns
    }

    /// Called after each step; reads the real clock rarely.
    mutating func isBusyForLong(at now_ns: Int64) -> Bool {
        if now_ns != instant_ns {
            instant_ns = now_ns
            steps = 0
            instantBegan_ns = .min
            return false
        }
        guard steps & 1023 == 1023 else { return false }
        let real_ns = TimeBase.kernel.now_ns
        if instantBegan_ns == .min { instantBegan_ns = real_ns }
        return real_ns - instantBegan_ns > patience_ns
    }
}
#endif
