// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import OpenCombine
import Testing

/// Publishers of OpenCombine on our schedulers.
@Suite("OpenCombine", .timeLimit(.minutes(5)))
struct OpenCombineTests {
    /// The values in order, each with its time in milliseconds. Used on one thread at a time.
    private final class Log: @unchecked Sendable {
        // Sendable: the tests wait for what writes to it.
        var lines: [String] = []
    }

    private let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))
    private let log = Log()

    private func note(_ value: some Any, _ scheduler: TimerScheduler) {
        log.lines.append("\(scheduler.now.instant.nanoseconds / 1_000_000) \(value)")
    }

    /// Returns the schedulers of an engine and of the virtual time itself, each with its owner.
    private func schedulers() throws -> [(TimerScheduler, any AnyObject)] {
        let engine = try TimerEngine(time: time.base)
        return [(engine.ocombine, engine), (time.ocombine, time)]
    }

    @Test("debounce delivers the last value of a burst once it has been quiet, to the nanosecond")
    func debounce() throws {
        for (scheduler, _) in try schedulers() {
            let start = time.now
            let text = PassthroughSubject<String, Never>()
            let search = text.debounce(for: .milliseconds(300), scheduler: scheduler).sink { self.note($0, scheduler) }
            text.send("s")
            time.advance(by: .milliseconds(200))
            text.send("sw")
            time.advance(by: .milliseconds(300) - .nanoseconds(1))
            #expect(log.lines == [])
            time.advance(by: .nanoseconds(1))
            #expect(log.lines == ["\((start.nanoseconds / 1_000_000) + 500) sw"])
            text.send("swi")
            search.cancel()
            time.advance(by: .seconds(1))
            #expect(log.lines.count == 1)
            log.lines = []
        }
    }

    @Test("throttle, delay, timeout and measureInterval keep their times")
    func operators() throws {
        for (scheduler, _) in try schedulers() {
            let start = time.now.nanoseconds / 1_000_000
            let numbers = PassthroughSubject<Int, Never>()
            var subscriptions: [AnyCancellable] = []
            numbers.throttle(for: .seconds(1), scheduler: scheduler, latest: true)
                .sink { self.note("throttle \($0)", scheduler) }.store(in: &subscriptions)
            numbers.delay(for: .milliseconds(250), scheduler: scheduler)
                .sink { self.note("delay \($0)", scheduler) }.store(in: &subscriptions)
            numbers.timeout(.seconds(5), scheduler: scheduler)
                .sink(receiveCompletion: { _ in self.note("timeout", scheduler) }, receiveValue: { _ in })
                .store(in: &subscriptions)
            numbers.measureInterval(using: scheduler)
                .sink { self.note("interval \($0.duration)", scheduler) }.store(in: &subscriptions)
            for number in 1...3 {
                numbers.send(number)
                time.advance(by: .milliseconds(400))
            }
            time.advance(by: .seconds(10))
            let after = log.lines.map { line -> String in
                let parts = line.split(separator: " ", maxSplits: 1)
                return "\((Int64(parts[0]) ?? 0) - start) \(parts[1])"
            }
            #expect(
                after.sorted { (Int($0.prefix { $0 != " " }) ?? 0, $0) < (Int($1.prefix { $0 != " " }) ?? 0, $1) } == [
                    "0 interval 0.0 seconds", "0 throttle 1", "250 delay 1", "400 interval 0.4 seconds",
                    "650 delay 2", "800 interval 0.4 seconds", "1000 throttle 3", "1050 delay 3", "5800 timeout",
                ]
            )
            log.lines = []
        }
    }

    @Test("schedule repeats on a grid until its cancellable is cancelled or dropped")
    func repeating() throws {
        let engine = try TimerEngine(time: time.base)
        let scheduler = engine.ocombine
        let begin = scheduler.now.advanced(by: .seconds(1))
        var cancellable: (any Cancellable)? = scheduler.schedule(after: begin, interval: .seconds(1.0 / 3)) {
            self.note("tick", scheduler)
        }
        time.advance(by: .seconds(2))
        #expect(log.lines == ["1000 tick", "1333 tick", "1666 tick", "2000 tick"])
        cancellable?.cancel()
        time.advance(by: .seconds(2))
        #expect(log.lines.count == 4)
        #expect(engine.liveTimers == 0)
        cancellable = scheduler.schedule(after: scheduler.now, interval: .seconds(1)) {}
        #expect(engine.liveTimers == 1)
        cancellable = nil
        #expect(engine.liveTimers == 0)
        _ = cancellable
    }

    @Test("schedule calls actions by their times, those with equal times in order of scheduling, and a past one soon")
    func order() throws {
        let scheduler = time.ocombine
        let date = scheduler.now.advanced(by: .seconds(1))
        for number in 1...3 { scheduler.schedule(after: date) { self.note(number, scheduler) } }
        scheduler.schedule { self.note("soon", scheduler) }
        scheduler.schedule(after: scheduler.now.advanced(by: .seconds(-5))) { self.note("past", scheduler) }
        #expect(log.lines == [])
        time.advance(by: .zero)
        #expect(log.lines == ["0 past", "0 soon"])
        time.advance(by: .seconds(1))
        #expect(log.lines == ["0 past", "0 soon", "1000 1", "1000 2", "1000 3"])
    }

    @Test("schedule on an engine that has ended drops the action and frees it")
    func ended() throws {
        let engine = try TimerEngine(time: time.base)
        let scheduler = engine.ocombine
        final class Captured {}
        weak var pending: Captured?
        do {
            let captured = Captured()
            pending = captured
            scheduler.schedule(after: scheduler.now.advanced(by: .seconds(1))) { _ = captured }
        }
        #expect(pending != nil)
        engine.shutdown()
        #expect(pending == nil)
        scheduler.schedule { self.note("late", scheduler) }
        time.advance(by: .seconds(2))
        #expect(log.lines == [])
    }

    @Test("schedule on a loop calls actions in the loop's passes, in the common modes or in a given one")
    func loop() throws {
        let loop = TimerLoop(time: time.base)
        let scheduler = loop.ocombine
        let text = PassthroughSubject<String, Never>()
        let search = text.debounce(for: .milliseconds(300), scheduler: scheduler).sink { self.note($0, scheduler) }
        text.send("swift")
        let tick = scheduler.schedule(after: scheduler.now, interval: .milliseconds(200)) {
            self.note("tick", scheduler)
        }
        scheduler.schedule(options: .init(mode: .tracking)) { self.note("tracking", scheduler) }
        loop.run(for: .milliseconds(500))
        #expect(log.lines == ["0 tick", "200 tick", "300 swift", "400 tick"])
        tick.cancel()
        loop.run(mode: .tracking, for: .milliseconds(10))
        #expect(log.lines.last == "510 tracking" || log.lines.last == "500 tracking")
        search.cancel()
    }

    @Test("debounce runs on the time of withManualTime, too")
    func virtual() async throws {
        try await withManualTime { time in
            let (values, value) = AsyncStream.makeStream(of: String.self)
            let text = PassthroughSubject<String, Never>()
            let start = time.now
            let search = text.debounce(for: .seconds(3600), scheduler: time.ocombine).sink {
                value.yield($0)
                value.finish()
            }
            text.send("an hour")
            for await text in values { #expect(text == "an hour") }
            #expect(time.now - start == .seconds(3600))
            search.cancel()
        }
    }

    @Test("schedule on a real engine is never early")
    func real() async throws {
        let engine = try TimerEngine()
        let scheduler = engine.ocombine
        for _ in 0..<10 {
            let date = scheduler.now.advanced(by: .milliseconds(1))
            let came: SchedulerTime = await withCheckedContinuation { continuation in
                scheduler.schedule(after: date) { continuation.resume(returning: scheduler.now) }
            }
            #expect(came >= date)
        }
        await engine.shutdown()
    }

    @Test("time intervals saturate, and numbers count as seconds")
    func strides() {
        typealias Stride = SchedulerTime.Stride
        let longest = Stride(Duration(attoseconds: .max))
        let most = Stride(Duration(attoseconds: .min))
        #expect(Stride.seconds(3) * 2 == .seconds(6))
        #expect(Stride.seconds(0.5) * -0.5 == .milliseconds(-250))
        #expect(longest + 1 == longest && most - 1 == most && longest * 2 == longest && longest * -2 == most)
        #expect(most.magnitude == longest && Stride.seconds(-2).magnitude == 2)
        #expect(Stride.seconds(.nan) == 0 && Stride.seconds(.infinity) > .seconds(1 << 33))
        #expect(Stride(exactly: UInt64.max) == nil && Stride(exactly: 5) == 5)
        let time = SchedulerTime(MonotonicInstant(nanoseconds: 5))
        #expect(time.advanced(by: longest).instant == .distantFuture)
        let later = time.advanced(by: .nanoseconds(1))
        #expect(time < later && time.distance(to: later) == .nanoseconds(1) && later.distance(to: time) < 0)
    }
}
