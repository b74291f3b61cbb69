// SPDX-License-Identifier: Apache-2.0
import Dispatch
import FoundationEssentials
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// What NaN, infinity, zero and a negative number become, in each face: the table of the article Any-value.md, row by row.
@Suite struct AnyValueTests {
    /// Times that pass when a test says so, and the instants of the calls.
    struct World: Sendable {
        let time = ManualTime()
        let engine: TimerEngine
        let loop: TimerLoop
        let calls = Recorder<MonotonicInstant>()
        let start: MonotonicInstant

        init() throws {
            engine = try TimerEngine(.init(time: time.base))
            loop = TimerLoop(time: time.base)
            loop.isKeptAlive = true
            start = time.now
        }

        func note() { calls.append(loop.now) }

        /// What a repeating timer does: its calls within 1 ms, and for the next 30 years.
        func rhythm() -> String {
            loop.run(for: .microseconds(1050))
            switch calls.count {
            case 10, 11: return "0.1 ms"
            case 0...1:
                loop.run(for: .seconds(1_000_000_000))
                return calls.count == 0 ? "never" : calls.count == 1 ? "once" : "later"
            default: return "\(calls.count) calls"
            }
        }

        /// When the only call comes.
        func whenCalled(_ isValid: Bool = true) -> String {
            if !isValid { return "invalid" }
            loop.run(for: .seconds(1_000_000_000))
            return calls.count == 0 ? "never" : calls.all == [start] ? "now" : "\(calls.count) calls"
        }

        func add(_ timer: LoopTimer) -> LoopTimer {
            loop.add(timer, forMode: .default)
            return timer
        }

        func source() -> TimerSource {
            let source = TimerSource(engine: engine)
            source.setEventHandler { note() }
            source.activate()
            return source
        }

        /// How far a run goes whose loop is stopped after 100 s.
        func length(_ run: () -> TimerLoop.RunResult) -> String {
            loop.perform(afterDelay: 100) { [loop] in loop.stop() }
            let result = run()
            if result == .stopped { return "no limit" }
            return result == .timedOut && time.now == start ? "one pass" : "\(result)"
        }

        /// How much later than the grid the calls of a jittered timer come.
        func spread(_ jitter: Jitter) -> String {
            engine.schedule(after: 1, every: .seconds(1), jitter: jitter) { _ in note() }
            loop.run(for: .seconds(100.5))
            let late = calls.all.enumerated().map { start.duration(to: $1) - .seconds($0 + 1) }
            let most = late.max() ?? .seconds(-1)
            return most == .zero ? "none" : most > .milliseconds(900) && most < .seconds(1) ? "the interval" : "\(most)"
        }

        /// The rate of a link's calls.
        func rate(_ link: DisplayLink) -> String {
            link.add(to: loop, forMode: .default)
            loop.run(for: 1)
            link.invalidate()
            let all = calls.all
            return "\(Int((Duration.seconds(1) / all[1].duration(to: all[2])).rounded())) Hz"
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let cells: [String]
        let observe: @Sendable (World, Double) async throws -> String

        init(
            _ name: String,
            _ nan: String,
            _ infinity: String,
            _ zero: String,
            _ negative: String,
            _ observe: @escaping @Sendable (World, Double) async throws -> String
        ) {
            self.name = name
            cells = [nan, infinity, zero, negative]
            self.observe = observe
        }

        var testDescription: String { name }
    }

    static let intervals = [
        Row("`engine.schedule(after: 0, every:)`", "0.1 ms", "once", "0.1 ms", "0.1 ms") { world, value in
            world.engine.schedule(after: 0, every: value) { _ in world.note() }
            return world.rhythm()
        },
        Row("`source.schedule(after: 0, repeating:)`", "0.1 ms", "once", "0.1 ms", "0.1 ms") { world, value in
            let source = world.source()
            source.schedule(after: 0, repeating: value)
            return withExtendedLifetime(source) { world.rhythm() }
        },
        Row("`source.schedule(deadline: .now(), repeating:)`, as GCD's", "once", "once", "0.1 ms", "0.1 ms") {
            world,
            value in
            let source = world.source()
            source.schedule(
                deadline: DispatchTime(uptimeNanoseconds: UInt64(world.start.nanoseconds)),
                repeating: value
            )
            return withExtendedLifetime(source) { world.rhythm() }
        },
        Row("`LoopTimer(timeInterval:, repeats: true)`", "invalid", "never", "0.1 ms", "0.1 ms") { world, value in
            let timer = LoopTimer(timeInterval: value, repeats: true, time: world.time.base) { _ in world.note() }
            return timer.isValid ? withExtendedLifetime(world.add(timer)) { world.rhythm() } : "invalid"
        },
        Row("`LoopTimer(fireAt: .now, interval:, repeats: true)`", "invalid", "once", "0.1 ms", "0.1 ms") {
            world,
            value in
            let timer = LoopTimer(fireAt: world.start, interval: value, repeats: true) { _ in world.note() }
            return timer.isValid ? withExtendedLifetime(world.add(timer)) { world.rhythm() } : "invalid"
        },
        Row("`registry.execute(interval:)`", "refused", "once", "refused", "refused") { world, value in
            let registry = TimerRegistry(engine: world.engine)
            do {
                try registry.execute(name: "task", interval: value) { world.note() }
            } catch {
                return "refused"
            }
            return withExtendedLifetime(registry) { world.rhythm() }
        },
    ]

    static let delays = [
        Row("`engine.schedule(after:)`", "now", "never", "now", "now") { world, value in
            world.engine.schedule(after: value) { _ in world.note() }
            return world.whenCalled()
        },
        Row("`engine.reschedule(_, after:)`", "now", "never", "now", "now") { world, value in
            let token = world.engine.schedule(after: 1) { _ in world.note() }
            world.engine.reschedule(token, after: value)
            return world.whenCalled()
        },
        Row("`source.schedule(after:)`", "now", "never", "now", "now") { world, value in
            let source = world.source()
            source.schedule(after: value)
            return withExtendedLifetime(source) { world.whenCalled() }
        },
        Row("`LoopTimer(timeInterval:, repeats: false)`", "invalid", "never", "now", "now") { world, value in
            let timer = LoopTimer(timeInterval: value, repeats: false, time: world.time.base) { _ in world.note() }
            return world.whenCalled(world.add(timer).isValid)
        },
        Row("`loop.perform(afterDelay:)`", "invalid", "never", "now", "now") { world, value in
            world.whenCalled(world.loop.perform(afterDelay: value) { world.note() }.isValid)
        },
        Row("`IdleTimeout(_:)`", "now", "never", "now", "now") { world, value in
            let idle = IdleTimeout(value, engine: world.engine) { world.note() }
            return withExtendedLifetime(idle) { world.whenCalled() }
        },
        Row("`Debouncer(for:)`: the element passes", "now", "never", "now", "now") { world, value in
            let debouncer = Debouncer<Int>(for: value, engine: world.engine) { _ in world.note() }
            debouncer.send(1)
            return withExtendedLifetime(debouncer) { world.whenCalled() }
        },
        Row("`Throttle(for:)`: the second element passes", "now", "never", "now", "now") { world, value in
            let throttle = Throttle<Int>(for: value, engine: world.engine) { if $0 == 2 { world.note() } }
            for element in 1...2 { throttle.send(element) }
            return withExtendedLifetime(throttle) { world.whenCalled() }
        },
        Row("`Backoff.constant(_:)`", "now", "never", "now", "now") { world, value in
            var waits = Backoff.constant(value).waits()
            let wait = waits.next()
            world.engine.schedule(after: try #require(wait)) { _ in world.note() }
            return world.whenCalled()
        },
        Row("`loop.run(for:)`", "one pass", "no limit", "one pass", "one pass") { world, value in
            world.length { world.loop.run(for: value) }
        },
    ]

    static let dates = [
        Row("`engine.schedule(at:)`", "now", "never", "now", "now") { world, value in
            world.engine.schedule(at: Date(timeIntervalSinceReferenceDate: value)) { _ in world.note() }
            return world.whenCalled()
        },
        Row("`LoopTimer(fireAt:)`", "invalid", "never", "now", "now") { world, value in
            let timer = LoopTimer(fireAt: Date(timeIntervalSinceReferenceDate: value)) { _ in world.note() }
            return world.whenCalled(world.add(timer).isValid)
        },
        Row("`timer.fireDate = …`", "ignored", "never", "now", "now") { world, value in
            let timer = world.add(
                LoopTimer(timeInterval: 5, repeats: false, time: world.time.base) { _ in world.note() }
            )
            timer.fireDate = Date(timeIntervalSinceReferenceDate: value)
            let seen = world.whenCalled()
            return world.calls.all == [world.start + .seconds(5)] ? "ignored" : seen
        },
        Row("`loop.run(until:)`", "one pass", "no limit", "one pass", "one pass") { world, value in
            world.length { world.loop.run(until: Date(timeIntervalSinceReferenceDate: value)) }
        },
    ]

    static let others = [
        Row("`tolerance`", "none", "half the interval", "none", "none") { world, value in
            let timer = LoopTimer(timeInterval: 1, repeats: true, tolerance: value) { _ in }
            return timer.tolerance == 0 ? "none" : timer.tolerance == 0.5 ? "half the interval" : "\(timer.tolerance)"
        },
        Row("`jitter: .upTo(_:)`", "none", "the interval", "none", "none") { world, value in
            world.spread(.upTo(value, seed: 1))
        },
        Row("`jitter: .share(_:)`", "none", "the interval", "none", "none") { world, value in
            world.spread(.share(value, seed: 1))
        },
        Row("`DisplayLink(framesPerSecond:)`", "60 Hz", "10000 Hz", "60 Hz", "60 Hz") { world, value in
            world.rate(DisplayLink(framesPerSecond: value) { _ in world.note() })
        },
        Row("`link.preferredFramesPerSecond`, at 120 Hz", "120 Hz", "120 Hz", "120 Hz", "120 Hz") { world, value in
            let link = DisplayLink(framesPerSecond: 120) { _ in world.note() }
            link.preferredFramesPerSecond = value
            return world.rate(link)
        },
    ]

    static let tasks = [
        Row("`clock.ticks(every:)`", "0.1 ms", "never", "0.1 ms", "0.1 ms") { _, value in
            try await withManualTime { time in
                let start = time.now
                // A cancelled iteration ends without an error.
                let first = try await withTimeout(.seconds(1_000_000_000)) { () -> MonotonicInstant? in
                    for await tick in MonotonicClock().ticks(every: value) { return tick.deadline }
                    return nil
                }
                guard let first else { return time.now == start + .seconds(1_000_000_000) ? "never" : "ended" }
                return first == start + .microseconds(100) ? "0.1 ms" : "\(first)"
            }
        },
        Row("`withTimeout(_:)`: times out", "now", "never", "now", "now") { _, value in
            try await withManualTime { time in
                let start = time.now
                do {
                    try await withTimeout(value) {
                        try await Task.sleep(for: .seconds(1_000_000_000), clock: .monotonic)
                    }
                    return "never"
                } catch is TimedOut {
                    return time.now == start ? "now" : "later"
                }
            }
        },
        Row("`Retry(_:within:)`: gives up", "now", "never", "now", "now") { _, value in
            try await withManualTime { time in
                let start = time.now
                do {
                    try await Retry(.constant(1), within: value).run {
                        try await Task.sleep(for: .seconds(1_000_000_000), clock: .monotonic)
                    }
                    return "never"
                } catch is TimedOut {
                    return time.now == start ? "now" : "later"
                }
            }
        },
    ]

    static let rows = intervals + delays + dates + others + tasks

    @Test("Of NaN, infinity, zero and a negative number each face makes what its row says", arguments: rows)
    func row(_ row: Row) async throws {
        for (value, cell) in zip([Double.nan, .infinity, 0, -1e6], row.cells) {
            #expect(try await row.observe(try World(), value) == cell, "\(value)")
        }
        // Negative infinity is negative, too, but where GCD's spelling takes an infinity for no interval.
        #expect(try await row.observe(try World(), -.infinity) == row.cells[row.name.contains("as GCD's") ? 1 : 3])
    }

    @Test("An interval below a nanosecond counts as zero does, in each face", arguments: intervals)
    func tiny(_ row: Row) async throws {
        for value in [1e-300, 0.9e-9, .leastNonzeroMagnitude] where row.cells[2] == "0.1 ms" {
            #expect(try await row.observe(try World(), value) == "0.1 ms", "\(value)")
        }
    }

    @Test("The article's table has these rows, and no others")
    func article() throws {
        let here = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let path = "\(here)/Sources/HRTimer/HRTimer.docc/Articles/Any-value.md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let table = text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            line.split(separator: "|").map { $0.trimming { $0 == " " } }.filter { !$0.isEmpty }
        }
        let isComplete = !Self.tasks.isEmpty
        #expect(Set(table.map { $0[0] }).count == table.count)
        for row in Self.rows { #expect(table.contains([row.name] + row.cells), "\(row.name)") }
        if isComplete { #expect(table.count == Self.rows.count) }
    }
}

extension Substring {
    fileprivate func trimming(_ isLeftOut: (Character) -> Bool) -> String {
        var rest = drop(while: isLeftOut)
        while let last = rest.last, isLeftOut(last) { rest.removeLast() }
        return String(rest)
    }
}
