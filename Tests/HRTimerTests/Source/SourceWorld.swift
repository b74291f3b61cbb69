// SPDX-License-Identifier: Apache-2.0
import HRTimer
import TestSupport

/// What random sources of one engine do and see, the real ones or a model of them: the same script gives the same events on
/// both, or one of the two is wrong.
///
/// Sources are at places: a place has one source at most, whose only reference it is.
protocol SourceWorld: AnyObject {
    var now_ns: Int64 { get }
    var events: [SourceEvent] { get set }
    /// What handlers may still do until the next step of the script.
    var allowance: SourceAllowance { get set }

    /// Makes a source in place of the one that is there, which is dropped.
    func make(at place: Int, isStrict: Bool, isElsewhere: Bool)
    /// Does nothing where no source is.
    func perform(_ verb: SourceVerb, at place: Int)
    /// Moves the clock.
    func advance(to instant_ns: Int64)
    /// Runs so many of the blocks that were submitted elsewhere, the first ones.
    func runSubmitted(_ count: Int)
}

/// What a script can see. A source has a number of its own, and so has each of its event handlers.
enum SourceEvent: Equatable, Sendable {
    case called(source: Int, handler: Int, now_ns: Int64, data: UInt)
    case registered(source: Int, now_ns: Int64)
    case cancelled(source: Int, now_ns: Int64)
    case looked(source: Int, isCancelled: Bool, data: UInt, nextDeadline_ns: Int64?)

    var source: Int {
        switch self {
        case .called(let source, _, _, _), .registered(let source, _), .cancelled(let source, _): source
        case .looked(let source, _, _, _): source
        }
    }
}

/// What is said to one source.
enum SourceVerb: Sendable {
    /// Where a new deadline lies.
    enum Instant: Sendable {
        case fromNow(Int64)
        /// The instant at which so many more of the unit have begun, so that deadlines of different verbs are equal.
        case aligned(Int64, unit_ns: Int64)
        case distantPast, distantFuture
    }

    case schedule(Instant, every: Duration?, leeway: Duration)
    case activate, suspend, resume, cancel, drop
    case setEventHandler(Bool)
    case setRegistrationHandler(Bool)
    case setCancelHandler(Bool)
    case setPolicy(MissedTickPolicy)
    case setPrecision(TimerPrecision?)
    /// Whether the handlers run elsewhere than on the engine's thread.
    case setTarget(Bool)
    case look
}

extension SourceVerb.Instant {
    /// Nil for the distant past and the distant future.
    func deadline_ns(_ now_ns: Int64) -> Int64? {
        switch self {
        case .fromNow(let offset_ns): now_ns + offset_ns
        case .aligned(let count, let unit_ns): (now_ns / unit_ns + count) * unit_ns
        case .distantPast, .distantFuture: nil
        }
    }
}

/// One thing that a test or a handler does.
enum SourceAction: Sendable {
    /// The verbs are said to the new source, in that order.
    case make(Int, isStrict: Bool, isElsewhere: Bool, [SourceVerb])
    /// Nil is the place where the handler that does it runs.
    case say(SourceVerb, Int?)
    case advance(Int64)
    case runSubmitted(Int)
}

/// Without a bound, handlers that make sources due and let time pass would never be done.
struct SourceAllowance {
    var slow = 3
    var actions = 8

    init(_ script: SourceScript? = nil) {
        guard let script else { return }
        if script.isOverloaded { slow = 20 }
        // Not shared, where the order of calls does not count: one source is done sooner or later.
        if script.spins { actions = .max }
    }
}

/// Draws actions: a scale of time, an engine and a number of places that stay the same for one chapter of a run.
struct SourceScript: Sendable {
    let seed: UInt64
    let scale_ns: Int64
    let places: Int
    let precision: TimerPrecision
    /// Handlers take longer than intervals, and most sources that repeat are bursts: nobody keeps up.
    let isOverloaded: Bool
    /// Most sources fire once, and time goes slowly: deadlines are put off, as keep-alives are, which takes no lock.
    let putsOff: Bool
    /// Whether some sources have their handlers called elsewhere.
    let hasTargets: Bool
    /// Whether the engine has spin windows, before deadlines of precise sources at least. It prepares calls early then, and is
    /// awake at other instants than a model without windows. Left out is what shows that: a slow handler, a handler of one source
    /// that does something to another, and what counts from the next call on that is prepared.
    let spins: Bool

    init(seed: UInt64, spins: Bool = false) {
        self.seed = seed
        self.spins = spins
        var random = SeededRandom(seed: seed)
        // Nanoseconds, and on both sides of the steps that a queue may count in.
        scale_ns = [1, 1000, 70_000, 10_000_000, 3_000_000_000].randomElement(using: &random)!
        places = [1, 2, 4, 8, 16, 40].randomElement(using: &random)!
        precision = (spins ? [.normal, .precise] : TimerPrecision.allCases).randomElement(using: &random)!
        isOverloaded = Int.random(in: 0..<4, using: &random) == 0 && !spins
        putsOff = Int.random(in: 0..<3, using: &random) == 0
        hasTargets = Int.random(in: 0..<3, using: &random) == 0 && !spins
    }

    /// What the test itself does at a step. Every place has a source at first.
    func action(_ step: Int, _ random: inout SeededRandom) -> SourceAction {
        if step < places { return make(step, &random) }
        switch Int.random(in: 0..<20, using: &random) {
        case 0...1: return make(place(&random), &random)
        case 2...10: return .say(verb(&random), place(&random))
        case 11...12 where hasTargets: return .runSubmitted(Int.random(in: 1...5, using: &random))
        default: return .advance(Int64.random(in: 0...(putsOff ? 15 : 60), using: &random) * scale_ns)
        }
    }

    /// What the handlers of a source do in one of their calls. Of most calls nothing.
    func actions(of source: Int, call: Int) -> [SourceAction] {
        var random = SeededRandom(
            seed: seed &+ UInt64(source) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(call) &* 0xD1B5_4A32_D192_ED03
        )
        guard random.next() % 2 == 0 else { return [] }
        return (0..<Int.random(in: 1...2, using: &random)).map { _ in
            switch Int.random(in: 0..<12, using: &random) {
            case _ where spins: .say(verb(&random), nil)
            case 0: make(place(&random), &random)
            case 1...4: .say(verb(&random), nil)
            case 5...8: .say(verb(&random), place(&random))
            default: .advance(Int64.random(in: 0...80, using: &random) * scale_ns)
            }
        }
    }

    private func place(_ random: inout SeededRandom) -> Int { Int.random(in: 0..<places, using: &random) }

    private func make(_ place: Int, _ random: inout SeededRandom) -> SourceAction {
        var verbs = [schedule(&random)]
        func perhaps(_ part: Int, of whole: Int, _ verb: SourceVerb) {
            if Int.random(in: 0..<whole, using: &random) < part { verbs.append(verb) }
        }
        perhaps(spins ? 8 : 7, of: 8, .setEventHandler(true))
        perhaps(7, of: 8, .activate)
        perhaps(1, of: 4, .setCancelHandler(true))
        perhaps(1, of: 6, .setRegistrationHandler(true))
        perhaps(1, of: 4, .setPrecision(TimerPrecision.allCases.randomElement(using: &random)!))
        perhaps(3, of: 4, .setPolicy(policy(&random)))
        return .make(
            place,
            isStrict: Int.random(in: 0..<6, using: &random) == 0,
            isElsewhere: hasTargets && Bool.random(using: &random),
            verbs.shuffled(using: &random)
        )
    }

    private func verb(_ random: inout SeededRandom) -> SourceVerb {
        switch Int.random(in: 0..<32, using: &random) {
        case 0...10: schedule(&random)
        case 11: .activate
        case 12...13: .suspend
        case 14...18: .resume
        case 19: .cancel
        case 20: .drop
        case 21...22 where !spins: .setEventHandler(Int.random(in: 0..<3, using: &random) > 0)
        case 23: .setRegistrationHandler(Bool.random(using: &random))
        case 24: .setCancelHandler(Bool.random(using: &random))
        case 25...26 where !spins: .setPolicy(policy(&random))
        case 27: .setPrecision(([nil] + TimerPrecision.allCases).randomElement(using: &random)!)
        case 28 where hasTargets: .setTarget(Bool.random(using: &random))
        case 29 where spins: .cancel
        case _ where spins: .resume
        default: .look
        }
    }

    private func schedule(_ random: inout SeededRandom) -> SourceVerb {
        let isPlain = Int.random(in: 0..<8, using: &random) < (putsOff ? 6 : 1)
        return .schedule(
            instant(&random),
            every: isPlain ? nil : interval(&random),
            leeway: isPlain ? .zero : leeway(&random)
        )
    }

    private func instant(_ random: inout SeededRandom) -> SourceVerb.Instant {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: .distantFuture
        case 1: .distantPast
        case 2...3: .fromNow(Int64.random(in: -40...0, using: &random) * scale_ns)
        case 4...10: .aligned(Int64.random(in: 0...(putsOff ? 4 : 9), using: &random), unit_ns: 10 * scale_ns)
        default: .fromNow(Int64.random(in: 0...100, using: &random) * scale_ns)
        }
    }

    /// Nil for a source that fires once.
    private func interval(_ random: inout SeededRandom) -> Duration? {
        switch Int.random(in: 0..<30, using: &random) {
        case 0...11: return nil
        // 0.1 ms, of which many are too short for the larger scales.
        case 12 where scale_ns < 100_000: return .nanoseconds(-Int64.random(in: 0...1, using: &random))
        case 13 where scale_ns == 1: return .nanoseconds(1) / 3
        default: break
        }
        // Of many intervals no whole nanoseconds.
        let part = [1, 1, 3, 7, 48].randomElement(using: &random)!
        let count = Int.random(in: isOverloaded ? part...9 * part : 5 * part...60 * part, using: &random)
        return .nanoseconds(scale_ns) * count / part
    }

    private func leeway(_ random: inout SeededRandom) -> Duration {
        switch Int.random(in: 0..<20, using: &random) {
        case 0...9: .zero
        case 10: .nanoseconds(-scale_ns)
        case 11: .nanoseconds(scale_ns) / 7
        default: .nanoseconds(Int64.random(in: 0...80, using: &random) * scale_ns)
        }
    }

    private func policy(_ random: inout SeededRandom) -> MissedTickPolicy {
        let policy = MissedTickPolicy.allCases.randomElement(using: &random)!
        return isOverloaded && Bool.random(using: &random) ? .burst : policy
    }
}

extension SourceWorld {
    /// `me` is the place of the source whose handler does it, if one does.
    func perform(_ action: SourceAction, me: Int? = nil) {
        switch action {
        case .make(let place, let isStrict, let isElsewhere, let verbs):
            make(at: place, isStrict: isStrict, isElsewhere: isElsewhere)
            for verb in verbs { perform(verb, at: place) }
        case .say(let verb, let place):
            if let place = place ?? me { perform(verb, at: place) }
        case .advance(let length_ns):
            advance(to: now_ns + length_ns)
        case .runSubmitted(let count):
            runSubmitted(count)
        }
    }

    /// What every handler does.
    func call(_ event: SourceEvent, of source: Int, at place: Int, call: Int, _ script: SourceScript) {
        events.append(event)
        for action in script.actions(of: source, call: call) {
            if case .advance = action {
                guard allowance.slow > 0 else { continue }
                allowance.slow -= 1
            } else {
                guard allowance.actions > 0 else { continue }
                allowance.actions -= 1
            }
            perform(action, me: place)
        }
    }
}
