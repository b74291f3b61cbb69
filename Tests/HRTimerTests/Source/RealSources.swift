// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport

/// Real sources of one engine on a frozen clock.
///
/// Unchecked, because an engine on virtual time has no thread: all of it happens on the thread of the test.
final class RealSources: SourceWorld, @unchecked Sendable {
    private let time = ManualTime()
    private let engine: TimerEngine
    private let script: SourceScript
    private var sources: [TimerSource?]
    /// By place, the number of the latest source there.
    private var numbers: [Int]
    /// By number.
    private var calls: [Int] = []
    private var handlers = 0
    /// Blocks that a source has submitted elsewhere than to the engine's thread, as it does to a loop. They run when the
    /// script says so.
    private var submitted: [@Sendable () -> Void] = []
    private let canaries = Canaries()
    var events: [SourceEvent] = []
    var allowance = SourceAllowance()

    /// Without spin windows an engine is awake at deadlines alone, as the model is; with them also before precise ones.
    init(_ script: SourceScript, spins: Bool = false) throws {
        self.script = script
        var configuration = TimerEngine.Configuration(precision: script.precision, time: time.base)
        if !spins { configuration.spinBudget = 0 }
        engine = try TimerEngine(configuration)
        sources = Array(repeating: nil, count: script.places)
        numbers = Array(repeating: -1, count: script.places)
    }

    /// Drops all sources. What was submitted before comes to nothing, and cancel handlers that are still to come have come.
    func end() {
        allowance.slow = 0
        allowance.actions = 0
        for place in sources.indices { drop(place) }
        while !submitted.isEmpty { runSubmitted(1) }
        time.advance(by: .zero)
    }

    var now_ns: Int64 { time.now.nanoseconds }
    var nextDeadline_ns: Int64 { time.nextDeadline?.nanoseconds ?? .max }
    var liveTimers: Int { engine.liveTimers }
    var statistics: TimerStatistics { engine.statistics }
    /// How many handlers there are that a source still keeps.
    var keptHandlers: Int { canaries.count }

    private func target(_ isElsewhere: Bool) -> SourceCore.Target? {
        isElsewhere ? SourceCore.Target { [unowned self] block in submitted.append(block) } : nil
    }

    func make(at place: Int, isStrict: Bool, isElsewhere: Bool) {
        drop(place)
        numbers[place] = calls.count
        calls.append(0)
        sources[place] = TimerSource(engine: engine, target: target(isElsewhere), isStrict: isStrict)
    }

    private func drop(_ place: Int) {
        // Not inside an access to the array: what is freed with a source may make the next one.
        let former = sources[place].take()
        withExtendedLifetime(former) {}
    }

    func perform(_ verb: SourceVerb, at place: Int) {
        guard let source = sources[place] else { return }
        switch verb {
        case .schedule(let instant, let interval, let leeway):
            source.schedule(deadline: deadline(instant), repeating: interval, leeway: leeway)
        case .activate: source.activate()
        case .suspend: source.suspend()
        case .resume: source.resume()
        case .cancel: source.cancel()
        case .drop: drop(place)
        case .setEventHandler(true): source.setEventHandler(handler: eventHandler(place))
        case .setEventHandler(false): source.setEventHandler(handler: nil)
        case .setRegistrationHandler(true):
            source.setRegistrationHandler(handler: handler(place) { .registered(source: $0, now_ns: $1) })
        case .setRegistrationHandler(false): source.setRegistrationHandler(handler: nil)
        case .setCancelHandler(true):
            source.setCancelHandler(handler: handler(place) { .cancelled(source: $0, now_ns: $1) })
        case .setCancelHandler(false): source.setCancelHandler(handler: nil)
        case .setPolicy(let policy): source.policy = policy
        case .setPrecision(let precision): source.precision = precision
        case .setTarget(let isElsewhere): source.core.setTarget(target(isElsewhere))
        case .look:
            events.append(
                .looked(
                    source: numbers[place],
                    isCancelled: source.isCancelled,
                    data: source.data,
                    nextDeadline_ns: source.nextDeadline?.nanoseconds
                )
            )
        }
    }

    private func deadline(_ instant: SourceVerb.Instant) -> MonotonicInstant {
        if let deadline_ns = instant.deadline_ns(now_ns) { return MonotonicInstant(nanoseconds: deadline_ns) }
        if case .distantPast = instant { return .distantPast }
        return .distantFuture
    }

    private func eventHandler(_ place: Int) -> @Sendable () -> Void {
        handlers += 1
        // The handler must not keep its source.
        return handler(place) { [handlers, weak source = sources[place]] number, now_ns in
            .called(source: number, handler: handlers, now_ns: now_ns, data: source?.data ?? 0)
        }
    }

    private func handler(
        _ place: Int,
        _ event: @escaping @Sendable (Int, Int64) -> SourceEvent
    ) -> @Sendable () -> Void {
        { [unowned self, number = numbers[place], script, canary = canaries.make()] in
            calls[number] += 1
            let event = event(number, now_ns)
            withExtendedLifetime(canary) { call(event, of: number, at: place, call: calls[number], script) }
        }
    }

    func advance(to instant_ns: Int64) {
        time.advance(to: MonotonicInstant(nanoseconds: instant_ns))
    }

    func runSubmitted(_ count: Int) {
        for _ in 0..<count where !submitted.isEmpty { submitted.removeFirst()() }
    }
}
