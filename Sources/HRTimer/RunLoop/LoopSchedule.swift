import CHRTimer
import HRTimerCore

/// The pending deadlines of a loop's timers, and what its thread sleeps until. Told the time, and knowing no thread.
struct LoopSchedule: ~Copyable, Sendable {
    /// How exact timers are, unless one asks for more.
    var precision = TimerPrecision.coalesced
    var spinBudget = SpinMargin.defaultBudget
    /// What the thread sleeps until. `.min` while it is awake: whoever adds something need not wake it then.
    var sleepsUntil_ns = Int64.min
    private var timers = PendingTimers<TimerToken?>()
    /// The deadlines of timers that ask for `.precise` themselves. The record of a timer has its place here.
    private var preciseDeadlines = PendingTimers<Void>()
    private var hasPrecise = false
    /// Some timer has, or had, a tolerance.
    private var hasTolerance = false

    /// What a timer asks for.
    struct Arming: Sendable {
        var deadline_ns: Int64
        var tolerance_ns: Int64
        var isPrecise: Bool
    }

    /// When to be awake, and whether to spin up to it.
    struct Wake: Sendable {
        var at_ns: Int64
        /// Nil: the kernel's own lateness will do.
        var spinBudget: Double?
    }

    /// Timers that exist, armed or not.
    var count: Int { timers.count }

    mutating func add() -> TimerToken { timers.add(nil) }

    @inline(__always)
    func isLive(_ token: TimerToken) -> Bool { timers.isLive(token) }

    /// False if the token is stale.
    mutating func remove(_ token: TimerToken) -> Bool {
        guard let preciseToken = timers.remove(token) else { return false }
        if let preciseToken { _ = preciseDeadlines.remove(preciseToken) }
        return true
    }

    mutating func removeAll() {
        _ = timers.end()
        _ = preciseDeadlines.end()
    }

    mutating func arm(_ token: TimerToken, _ arming: Arming) {
        timers.arm(token, deadline_ns: arming.deadline_ns, tolerance_ns: arming.tolerance_ns)
        if arming.tolerance_ns > 0 { hasTolerance = true }
        if hasPrecise || arming.isPrecise { armPrecise(token, arming) }
    }

    @inline(never)
    private mutating func armPrecise(_ token: TimerToken, _ arming: Arming) {
        if arming.isPrecise {
            hasPrecise = true
            let preciseToken = timers.records[token.slot] ?? preciseDeadlines.add(())
            timers.records[token.slot] = preciseToken
            preciseDeadlines.arm(preciseToken, deadline_ns: arming.deadline_ns)
        } else if let preciseToken = timers.records[token.slot].take() {
            _ = preciseDeadlines.remove(preciseToken)
        }
    }

    @inline(__always)
    func hasDue(at now_ns: Int64) -> Bool { timers.hasDue(at: now_ns) }

    /// Takes a bounded number of what is due, in order of (deadline, arming), perhaps none: ask `hasDue`.
    mutating func takeDue(now_ns: Int64, into batch: UnsafeMutableBufferPointer<hrt_due>) -> Int {
        let count = timers.takeDue(now_ns: now_ns, into: batch)
        if hasPrecise {
            for due in batch[..<count] {
                if let preciseToken = timers.records[due.token.slot] { preciseDeadlines.disarm(preciseToken) }
            }
        }
        return count
    }

    /// The deadline of the next timer, or where tolerances count the latest instant that suits all. `prepared_ns` is that of
    /// one that a precise wait has taken out already.
    func nextWake(prepared_ns: Int64) -> Wake {
        let next_ns = hasTolerance && precision == .coalesced ? timers.nextWake_ns : timers.next_ns
        let precise_ns = hasPrecise ? min(preciseDeadlines.next_ns, prepared_ns) : prepared_ns
        if precision == .precise { return Wake(at_ns: min(next_ns, precise_ns), spinBudget: spinBudget) }
        if precise_ns == .max { return Wake(at_ns: next_ns) }
        // An ordinary wake-up just before a precise deadline would spoil it, being late: it is waited for precisely too.
        let isPrecise = precise_ns.subtractingSaturating(next_ns) < Self.preciseNeighbourhood_ns
        return Wake(at_ns: min(next_ns, precise_ns), spinBudget: isPrecise ? spinBudget : nil)
    }

    private static let preciseNeighbourhood_ns: Int64 = 100_000

    /// Whether the thread sleeps too long for what was armed just now.
    mutating func mustWake(for arming: Arming) -> Bool {
        mustWake(
            for: precision == .coalesced
                ? arming.deadline_ns.addingSaturating(arming.tolerance_ns) : arming.deadline_ns
        )
    }

    /// The same for an instant. If so the thread counts as awake from now on, so that more of the kind send no second wake.
    private mutating func mustWake(for deadline_ns: Int64) -> Bool {
        guard deadline_ns < sleepsUntil_ns else { return false }
        sleepsUntil_ns = .min
        return true
    }

    /// The same for what is due at once.
    mutating func mustWakeNow() -> Bool { mustWake(for: .min) }
}
