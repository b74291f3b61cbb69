// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport

/// Random timers on real engines or on a model of them. The same script gives the same events on both, or one of the two is
/// wrong.
protocol EngineWorld: AnyObject {
    var now_ns: Int64 { get }
    /// The number of timers ever made. A timer is known by its number.
    var timersMade: Int { get }
    var events: [EngineEvent] { get set }
    /// The operations that handlers may still do until the next step of the script.
    var allowance: HandlerAllowance { get set }

    func schedule(_ plan: TimerPlan, at deadline_ns: Int64)
    func reschedule(_ timer: Int, at deadline_ns: Int64) -> Bool
    func cancel(_ timer: Int) -> Bool
    func advance(to instant_ns: Int64)
    /// The number of live timers of each engine.
    var liveTimers: [Int] { get }
}

/// What a script observes.
enum EngineEvent: Equatable, Sendable {
    case called(timer: Int, deadline_ns: Int64, now_ns: Int64, missedTicks: Int)
    case answered(Bool)
}

/// The parameters of a timer to be scheduled.
struct TimerPlan: Sendable {
    var engine: Int
    var interval_ns: Int64?
    var tolerance_ns: Int64
    var precision: TimerPrecision?
    var policy: MissedTickPolicy
}

/// A bound on what handlers do. Without it, handlers that make timers and let time pass would go on for ever.
struct HandlerAllowance {
    var slow = 3
    var actions = 8

    init(_ script: EngineScript? = nil) {
        if script?.isOverloaded ?? false { slow = 20 }
    }
}

/// One operation of a test or of a handler.
enum Action {
    /// Where a new deadline lies.
    enum Instant {
        case fromNow(Int64)
        /// Relative to the deadline being fired: an offset of zero or less is in the past.
        case fromFired(Int64)
        case never
    }

    case schedule(TimerPlan, Instant)
    /// Any timer ever made, stale ones too; nil means the timer whose handler is running.
    case reschedule(UInt64?, Instant)
    case cancel(UInt64?)
    case advance(Int64)
}

/// Draws random operations. The time scale, the number of timers and the engines stay the same for one chapter of a run.
struct EngineScript: Sendable {
    let seed: UInt64
    let scale_ns: Int64
    let mostTimers: Int
    let precisions: [TimerPrecision]
    /// Whether handlers take longer than intervals, and most repeating timers are bursts, so that none keeps up.
    let isOverloaded: Bool

    init(seed: UInt64) {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        // Nanoseconds, and scales on both sides of the tick in which a queue may count.
        scale_ns = [1, 1000, 70_000, 10_000_000, 3_000_000_000].randomElement(using: &random)!
        mostTimers = [4, 30, 31, 33, 63, 66, 200].randomElement(using: &random)!
        precisions = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            TimerPrecision.allCases.randomElement(using: &random)!
        }
        isOverloaded = Int.random(in: 0..<3, using: &random) == 0
    }

    /// Returns the operation that the test itself does at a step.
    func action(_ random: inout SeededRandom) -> Action {
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3: return .schedule(plan(&random), instant(&random, isInHandler: false))
        case 4: return .reschedule(random.next(), instant(&random, isInHandler: false))
        case 5: return .cancel(random.next())
        default: return .advance(Int64.random(in: 0...60, using: &random) * scale_ns)
        }
    }

    /// Returns what the handler of a timer does in one of its calls: in half of them nothing.
    func actions(of timer: Int, call: Int) -> [Action] {
        var random = SeededRandom(
            seed: seed &+ UInt64(timer) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(call) &* 0xD1B5_4A32_D192_ED03
        )
        guard random.next() % 2 == 0 else { return [] }
        return (0..<Int.random(in: 1...2, using: &random)).map { _ in
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2: .schedule(plan(&random), instant(&random, isInHandler: true))
            case 3: .reschedule(nil, instant(&random, isInHandler: true))
            case 4...5: .reschedule(random.next(), instant(&random, isInHandler: true))
            case 6: .cancel(Bool.random(using: &random) ? nil : random.next())
            default: .advance(Int64.random(in: 0...80, using: &random) * scale_ns)
            }
        }
    }

    private func instant(_ random: inout SeededRandom, isInHandler: Bool) -> Action.Instant {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: .never
        case 1...6 where isInHandler: .fromFired(Int64.random(in: -10...30, using: &random) * scale_ns)
        case 7: .fromNow(Int64.random(in: -100...0, using: &random) * scale_ns)
        default: .fromNow(Int64.random(in: 0...100, using: &random) * scale_ns)
        }
    }

    private func plan(_ random: inout SeededRandom) -> TimerPlan {
        let repeats = Int.random(in: 0..<3, using: &random) == 0
        let intervals: ClosedRange<Int64> = isOverloaded ? 1...9 : 5...60
        let interval_ns = repeats ? Int64.random(in: intervals, using: &random) * scale_ns : nil
        let policy = MissedTickPolicy.allCases.randomElement(using: &random)!
        return TimerPlan(
            engine: Int.random(in: 0..<precisions.count, using: &random),
            interval_ns: interval_ns,
            tolerance_ns: Bool.random(using: &random) ? 0 : Int64.random(in: 0...80, using: &random) * scale_ns,
            precision: Bool.random(using: &random) ? nil : TimerPrecision.allCases.randomElement(using: &random)!,
            policy: isOverloaded && Bool.random(using: &random) ? .burst : policy
        )
    }
}

extension EngineWorld {
    /// Performs an operation. `me` and `fired_ns` are the timer and the deadline of the handler that does it, or nil.
    func perform(_ action: Action, _ script: EngineScript, me: Int? = nil, fired_ns: Int64? = nil) {
        func deadline_ns(_ instant: Action.Instant) -> Int64 {
            switch instant {
            case .fromNow(let offset_ns): now_ns + offset_ns
            case .fromFired(let offset_ns): (fired_ns ?? now_ns) + offset_ns
            case .never: .max
            }
        }
        func timer(_ number: UInt64?) -> Int? {
            number.map { timersMade == 0 ? nil : Int($0 % UInt64(timersMade)) } ?? me
        }
        switch action {
        case .schedule(let plan, let instant):
            // At the most timers, cancels one instead, which may be stale.
            if liveTimers.reduce(0, +) < script.mostTimers {
                schedule(plan, at: deadline_ns(instant))
            } else if let oldest = timer(UInt64(bitPattern: now_ns)) {
                events.append(.answered(cancel(oldest)))
            }
        case .reschedule(let number, let instant):
            guard let timer = timer(number) else { return }
            events.append(.answered(reschedule(timer, at: deadline_ns(instant))))
        case .cancel(let number):
            guard let timer = timer(number) else { return }
            events.append(.answered(cancel(timer)))
        case .advance(let length_ns):
            advance(to: now_ns + length_ns)
        }
    }

    /// The handler of every timer: records the call, then does what the script says, within the allowance.
    func call(_ timer: Int, _ call: Int, _ script: EngineScript, deadline_ns: Int64, at_ns: Int64, missedTicks: Int) {
        events.append(.called(timer: timer, deadline_ns: deadline_ns, now_ns: at_ns, missedTicks: missedTicks))
        for action in script.actions(of: timer, call: call) {
            if case .advance = action {
                guard allowance.slow > 0 else { continue }
                allowance.slow -= 1
            } else {
                guard allowance.actions > 0 else { continue }
                allowance.actions -= 1
            }
            perform(action, script, me: timer, fired_ns: deadline_ns)
        }
    }
}

/// Real engines on one frozen clock.
///
/// Unchecked, because engines on virtual time have no thread: everything happens on the thread of the test.
final class RealEngines: EngineWorld, @unchecked Sendable {
    private let time: ManualTime
    private let engines: [TimerEngine]
    private let script: EngineScript
    private var timers: [(engine: Int, token: TimerToken, calls: Int)] = []
    var events: [EngineEvent] = []
    var allowance = HandlerAllowance()

    /// Without spin windows an engine is awake only at deadlines, as the model is. With them it is also awake before precise
    /// deadlines, and then calls timers whose tolerance allows it.
    init(_ script: EngineScript, spins: Bool = false) throws {
        let time = ManualTime()
        self.time = time
        self.script = script
        engines = try script.precisions.map { precision in
            var configuration = TimerEngine.Configuration(precision: precision, time: time.base)
            if !spins { configuration.spinBudget = 0 }
            return try TimerEngine(configuration)
        }
    }

    /// Shuts the engines down, since their handlers hold this object.
    func end() {
        for engine in engines { engine.shutdown() }
    }

    var now_ns: Int64 { time.now.nanoseconds }
    var timersMade: Int { timers.count }
    var liveTimers: [Int] { engines.map(\.liveTimers) }

    func schedule(_ plan: TimerPlan, at deadline_ns: Int64) {
        let number = timers.count
        let token = engines[plan.engine].schedule(
            at: MonotonicInstant(nanoseconds: deadline_ns),
            every: plan.interval_ns.map { .nanoseconds($0) },
            tolerance: .nanoseconds(plan.tolerance_ns),
            precision: plan.precision,
            policy: plan.policy
        ) { [self] fire in
            timers[number].calls += 1
            call(
                number,
                timers[number].calls,
                script,
                deadline_ns: fire.deadline.nanoseconds,
                at_ns: fire.firedAt.nanoseconds,
                missedTicks: fire.missedTicks
            )
        }
        timers.append((plan.engine, token, 0))
    }

    func reschedule(_ timer: Int, at deadline_ns: Int64) -> Bool {
        engines[timers[timer].engine].reschedule(timers[timer].token, at: MonotonicInstant(nanoseconds: deadline_ns))
    }

    func cancel(_ timer: Int) -> Bool {
        engines[timers[timer].engine].cancel(timers[timer].token)
    }

    func advance(to instant_ns: Int64) {
        time.advance(to: MonotonicInstant(nanoseconds: instant_ns))
    }
}
