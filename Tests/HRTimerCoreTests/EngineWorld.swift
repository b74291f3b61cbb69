import HRTimerCore
import HRTimerTesting
import TestSupport

/// What random timers do and see, on engines or on a model of them: the same script gives the same events on both, or one
/// of the two is wrong.
protocol EngineWorld: AnyObject {
    var now_ns: Int64 { get }
    /// Timers ever made; each is known by its number.
    var timersMade: Int { get }
    var events: [EngineEvent] { get set }
    /// What handlers may still do until the next step of the script.
    var allowance: HandlerAllowance { get set }

    func schedule(_ plan: TimerPlan, at deadline_ns: Int64)
    func reschedule(_ timer: Int, at deadline_ns: Int64) -> Bool
    func cancel(_ timer: Int) -> Bool
    func advance(to instant_ns: Int64)
    /// Of each engine.
    var liveTimers: [Int] { get }
}

/// What a script can see.
enum EngineEvent: Equatable, Sendable {
    case called(timer: Int, deadline_ns: Int64, now_ns: Int64, missedTicks: Int)
    case answered(Bool)
}

/// A timer that is asked for.
struct TimerPlan: Sendable {
    var engine: Int
    var interval_ns: Int64?
    var tolerance_ns: Int64
    var precision: TimerPrecision?
    var policy: MissedTickPolicy
}

/// Without a bound, handlers that make timers and let time pass would never be done.
struct HandlerAllowance {
    var slow = 3
    var deeds = 8

    init(_ script: EngineScript? = nil) {
        if script?.isOverloaded ?? false { slow = 20 }
    }
}

/// One thing that a test or a handler does.
enum Deed {
    /// Where a new deadline lies.
    enum Instant {
        case fromNow(Int64)
        /// From the deadline that is being fired: at or before it is the past.
        case fromFired(Int64)
        case never
    }

    case schedule(TimerPlan, Instant)
    /// One of all timers ever made, stale ones too; nil is whoever's handler does it.
    case reschedule(UInt64?, Instant)
    case cancel(UInt64?)
    case advance(Int64)
}

/// Draws deeds: a scale of time, a crowd and engines that stay the same for one chapter of a run.
struct EngineScript: Sendable {
    let seed: UInt64
    let scale_ns: Int64
    let mostTimers: Int
    let precisions: [TimerPrecision]
    /// Handlers take longer than intervals, and most timers that repeat are bursts: nobody keeps up.
    let isOverloaded: Bool

    init(seed: UInt64) {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        // Nanoseconds, and on both sides of the steps that a queue may count in.
        scale_ns = [1, 1000, 70_000, 10_000_000, 3_000_000_000].randomElement(using: &random)!
        mostTimers = [4, 30, 31, 33, 63, 66, 200].randomElement(using: &random)!
        precisions = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            TimerPrecision.allCases.randomElement(using: &random)!
        }
        isOverloaded = Int.random(in: 0..<3, using: &random) == 0
    }

    /// What the test itself does at a step.
    func deed(_ random: inout SeededRandom) -> Deed {
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3: return .schedule(plan(&random), instant(&random, isInHandler: false))
        case 4: return .reschedule(random.next(), instant(&random, isInHandler: false))
        case 5: return .cancel(random.next())
        default: return .advance(Int64.random(in: 0...60, using: &random) * scale_ns)
        }
    }

    /// What the handler of a timer does in one of its calls. Of most calls nothing.
    func deeds(of timer: Int, call: Int) -> [Deed] {
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

    private func instant(_ random: inout SeededRandom, isInHandler: Bool) -> Deed.Instant {
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
    /// `me` and `fired_ns` are those of the handler that does it, if one does.
    func perform(_ deed: Deed, _ script: EngineScript, me: Int? = nil, fired_ns: Int64? = nil) {
        func deadline_ns(_ instant: Deed.Instant) -> Int64 {
            switch instant {
            case .fromNow(let offset_ns): now_ns + offset_ns
            case .fromFired(let offset_ns): (fired_ns ?? now_ns) + offset_ns
            case .never: .max
            }
        }
        func timer(_ number: UInt64?) -> Int? {
            number.map { timersMade == 0 ? nil : Int($0 % UInt64(timersMade)) } ?? me
        }
        switch deed {
        case .schedule(let plan, let instant):
            // A crowd that is full makes room, by one that may be stale.
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

    /// What every timer's handler does.
    func call(_ timer: Int, _ call: Int, _ script: EngineScript, deadline_ns: Int64, at_ns: Int64, missedTicks: Int) {
        events.append(.called(timer: timer, deadline_ns: deadline_ns, now_ns: at_ns, missedTicks: missedTicks))
        for deed in script.deeds(of: timer, call: call) {
            if case .advance = deed {
                guard allowance.slow > 0 else { continue }
                allowance.slow -= 1
            } else {
                guard allowance.deeds > 0 else { continue }
                allowance.deeds -= 1
            }
            perform(deed, script, me: timer, fired_ns: deadline_ns)
        }
    }
}

/// Real engines on one frozen clock.
///
/// Unchecked, because engines on virtual time have no thread: all of it happens on the thread of the test.
final class RealEngines: EngineWorld, @unchecked Sendable {
    private let time: ManualTime
    private let engines: [TimerEngine]
    private let script: EngineScript
    private var timers: [(engine: Int, token: TimerToken, calls: Int)] = []
    var events: [EngineEvent] = []
    var allowance = HandlerAllowance()

    /// Without spin windows an engine is awake at deadlines alone, as the model is; with them also before precise ones, and calls
    /// then what may come within its tolerance.
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

    /// Handlers hold this object.
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
