#if os(Linux)
import HRTimerCore
import Synchronization

/// The grid that the consumers of one tick sequence share. It may change while they use it.
final class TickGrid: Sendable {
    let time: TimeBase
    let host: @Sendable () -> TimerHost
    private let phase: TimerPhase
    /// Has one seed for all consumers, so that each gets the same ticks.
    private let jitter: Jitter?

    /// A stretch of equal intervals.
    struct Stretch: Sendable {
        var interval: ExactInterval
        /// The ticks, counted from the first one. Nil until a consumer waits, if no first tick was given.
        var grid: Grid?
        /// The number of changes so far.
        var generation = 0
        /// When this stretch began.
        var begun_ns = Int64.min
        /// The number of the latest change that makes consumers forget former ticks.
        var forgetsBefore = 0

        init(first_ns: Int64?, every interval: Duration) {
            self.interval = Recurrence(every: interval, policy: .merge).interval
            if let first_ns { begin(at: first_ns) }
        }

        mutating func begin(at first_ns: Int64, number: Int64 = 0) {
            grid = Grid(anchor: ExactInstant(first_ns), number: number, interval: interval)
        }

        /// Begins the grid one interval after `now_ns`.
        mutating func begin(after now_ns: Int64) {
            var first = ExactInstant(now_ns)
            first.advance(by: interval)
            grid = Grid(anchor: first, interval: interval)
        }

        /// Moves the grid later by a random part of the interval, unless the phase is `.given`.
        mutating func shift(_ phase: TimerPhase, random: @autoclosure () -> UInt64) {
            guard phase != .given, let grid else { return }
            let recurrence = Recurrence(interval: interval, policy: .merge)
            let first_ns = phase.first_ns(grid.anchor.rounded_ns, recurrence, random: random())
            let first = ExactInstant(first_ns, roundedUp_as: grid.anchor.roundedUp_as)
            self.grid = Grid(anchor: first, number: grid.number, interval: interval)
        }
    }

    /// Created for the first watcher.
    private let watchers = Locked<LateHandlers?>(nil)
    /// The ticks that all consumers got, and the ticks that they missed.
    private let fires = Atomic<UInt64>(0)
    private let missedTicks = Atomic<UInt64>(0)

    private struct State: Sendable {
        var stretch: Stretch
        /// Whether a consumer has begun with the first tick. Later consumers begin with the next one.
        var hasBegun = false
        var isCancelled = false
        /// The consumers that sleep for a tick of this stretch.
        var sleepers: [Sleeper] = []
        /// The tick that a consumer was given last; nil if there is none on the present grid.
        var given: Given?
    }

    /// A tick that a consumer was given: its place on the present grid, and how late it was.
    private struct Given: Sendable {
        var nominal_ns: Int64
        let lateness_ns: Int64
    }

    private let state: Locked<State>

    init(
        _ time: TimeBase,
        first_ns: Int64?,
        every interval: Duration,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given,
        host: @escaping @Sendable () -> TimerHost
    ) {
        self.time = time
        self.host = host
        self.phase = phase
        self.jitter = jitter.map { $0.seeded(time.randomNumber()) }
        var stretch = Stretch(first_ns: first_ns, every: interval)
        stretch.shift(phase, random: time.randomNumber())
        state = Locked(State(stretch: stretch))
    }

    /// The handlers of those who watch late ticks; nil if nobody does.
    var lateHandlers: LateHandlers? { watchers.withLock { $0 } }

    var statistics: FireStatistics {
        FireStatistics(
            fires: fires.load(ordering: .relaxed),
            missedTicks: missedTicks.load(ordering: .relaxed),
            lateness: lateHandlers?.statistics ?? LatenessStatistics()
        )
    }

    /// Counts a tick that a consumer is given, of the stretch with that generation. `nominal_ns` is without jitter; nil for a
    /// tick that has no place on the grid. Returns false, and counts nothing, if the sequence has changed or ended since.
    func count(_ nominal_ns: Int64?, lateness_ns: Int64, missed: Int, _ generation: Int) -> Bool {
        let isCurrent = state.withLock { state in
            guard !state.isCancelled, state.stretch.generation == generation else { return false }
            if let nominal_ns { state.given = Given(nominal_ns: nominal_ns, lateness_ns: lateness_ns) }
            return true
        }
        guard isCurrent else { return false }
        fires.wrappingAdd(1, ordering: .relaxed)
        if missed > 0 { missedTicks.wrappingAdd(UInt64(missed), ordering: .relaxed) }
        return true
    }

    func watch(beyond bound_ns: Int64) -> LateHandlers {
        host().watch().lowerBound(to: bound_ns)
        let made = LateHandlers()
        return watchers.withLock { watchers in
            if watchers == nil { watchers = made }
            return watchers ?? made
        }
    }

    /// Returns the jitter for a consumer of ticks at that interval; nil if the ticks have none.
    func tickJitter(_ recurrence: Recurrence) -> TickJitter? {
        jitter.map { TickJitter($0, for: recurrence, random: 0) }
    }

    var interval: Duration { state.withLock { $0.stretch.interval.duration } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func setInterval(_ interval: Duration) {
        change { state, now_ns in
            let before = state.stretch
            state.stretch = Stretch(first_ns: nil, every: interval)
            // A stretch that has not begun has no phase to keep.
            guard let grid = before.grid else { return }
            state.stretch.generation = before.generation + 1
            state.stretch.begun_ns = now_ns
            state.stretch.forgetsBefore = before.forgetsBefore
            let next = grid.advanced(past: now_ns)
            let deadline_ns = next.anchor.rounded_ns
            // As if the latest tick had come at its deadline: a change at each tick would add up how late they are.
            let given = state.given.flatMap { given in
                grid.number(at: given.nominal_ns).addingSaturating(1) == next.number ? given : nil
            }
            let phase_ns = now_ns.subtractingSaturating(given?.lateness_ns ?? 0)
            let (former_ns, new_ns) = (before.interval.whole_ns, state.stretch.interval.whole_ns)
            let first_ns =
                deadline_ns.subtractingSaturating(phase_ns) > former_ns
                ? deadline_ns : scaled(deadline_ns, at: phase_ns, from: former_ns, to: new_ns)
            state.stretch.begin(at: first_ns, number: next.number)
            state.given = given
            state.given?.nominal_ns = state.stretch.grid?.instant_ns(next.number.subtractingSaturating(1)) ?? .min
        }
    }

    func schedule(first_ns: Int64?, every interval: Duration) {
        change { state, now_ns in
            let generation = state.stretch.generation + 1
            state.given = nil
            state.stretch = Stretch(first_ns: first_ns, every: interval)
            state.stretch.generation = generation
            state.stretch.forgetsBefore = generation
            state.stretch.begun_ns = now_ns
            if first_ns == nil { state.stretch.begin(after: now_ns) }
            state.stretch.shift(phase, random: time.randomNumber())
        }
    }

    func cancel() {
        change { state, _ in state.isCancelled = true }
    }

    private func change(_ change: (inout State, _ now_ns: Int64) -> Void) {
        let sleepers = state.withLock { state in
            change(&state, time.now_ns)
            defer { state.sleepers = [] }
            return state.sleepers
        }
        // The interrupted consumers plan again.
        for sleeper in sleepers { sleeper.interrupt() }
    }

    /// Returns the present stretch, its grid and the time; nil if the sequence has ended. Ticks that have not begun yet
    /// begin now.
    ///
    /// The time is read under the lock, here and in a change. Otherwise a consumer could take a tick that is later than the
    /// change which follows it, and the next tick would be before that one.
    func present() -> (stretch: Stretch, grid: Grid, now_ns: Int64)? {
        state.withLock { state in
            if state.isCancelled { return nil }
            let now_ns = time.now_ns
            if state.stretch.grid == nil {
                state.stretch.begin(after: now_ns)
                state.stretch.shift(phase, random: time.randomNumber())
            }
            return state.stretch.grid.map { (state.stretch, $0, now_ns) }
        }
    }

    /// Returns true for the first consumer.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
    }

    /// Adds a sleeper. Returns false if the sequence has changed: then the consumer plans its sleep again.
    func enter(_ sleeper: Sleeper, _ generation: Int) -> Bool {
        state.withLock { state in
            guard !state.isCancelled, state.stretch.generation == generation else { return false }
            state.sleepers.append(sleeper)
            return true
        }
    }

    func leave(_ sleeper: Sleeper) {
        state.withLock { state in
            if let place = state.sleepers.firstIndex(where: { $0 === sleeper }) { state.sleepers.remove(at: place) }
        }
    }
}

/// Returns the deadline after a change of interval: the rest of the present interval changes in proportion to the interval.
func scaled(_ deadline_ns: Int64, at now_ns: Int64, from before_ns: Int64, to after_ns: Int64) -> Int64 {
    let rest = Int128(deadline_ns) - Int128(now_ns)
    if rest <= 0 { return deadline_ns }
    // Rounded up: never early.
    let scaled = (rest * Int128(after_ns) + Int128(before_ns) - 1) / Int128(before_ns)
    return Int64(clamping: Int128(now_ns) + scaled)
}
#endif
