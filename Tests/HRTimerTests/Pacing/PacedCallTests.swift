// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// `Debouncer` and `Throttle` in manual time.
@Suite struct PacedCallTests {
    struct Call: Sendable, Equatable {
        var element: Int
        /// In seconds since the start.
        var at: Double

        init(_ element: Int, _ at: Double) {
            self.element = element
            self.at = at
        }
    }

    let time = ManualTime()
    let engine: TimerEngine
    let start: MonotonicInstant
    let calls = Recorder<Call>()
    let canaries = Canaries()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        start = time.now
    }

    private func record(_ element: Int) { calls.append(Call(element, start.duration(to: time.now) / .seconds(1))) }

    private func debouncer(_ period: Duration = .seconds(3), _ edges: BurstEdges = .trailing) -> Debouncer<Int> {
        Debouncer(for: period, edges: edges, engine: engine) { [self, canary = canaries.make()] element in
            withExtendedLifetime(canary) { record(element) }
        }
    }

    private func throttle(_ period: Duration = .seconds(3), _ edges: BurstEdges = .both) -> Throttle<Int> {
        Throttle(for: period, edges: edges, engine: engine) { [self] element in record(element) }
    }

    /// Sends one element per second.
    private func send(_ elements: Range<Int>, _ send: (Int) -> Bool) {
        for element in elements {
            #expect(send(element))
            time.advance(by: .seconds(1))
        }
    }

    @Test("A debouncer calls with the last element once nothing was sent for its period, and then has no deadline")
    func debounce() {
        let debouncer = debouncer()
        send(0..<4, debouncer.send)
        #expect(calls.count == 0 && debouncer.isWaiting)
        time.advance(by: .seconds(10))
        #expect(calls.all == [Call(3, 6)] && !debouncer.isWaiting)
        #expect(time.nextDeadline == nil)
        debouncer.send(7)
        time.advance(by: .seconds(3) - .nanoseconds(1))
        #expect(calls.count == 1)
        time.advance(by: .nanoseconds(1))
        #expect(calls.all.last?.element == 7)
    }

    @Test("Debouncers and throttles have the same edges as the sequences", arguments: BurstEdges.allCases)
    func edges(_ edges: BurstEdges) {
        let debouncer = debouncer(.seconds(3), edges)
        let throttle = throttle(.seconds(3), edges)
        debouncer.send(0)
        debouncer.send(1)
        time.advance(by: .seconds(3))
        debouncer.send(2)
        time.advance(by: .seconds(10))
        let debounced = calls.all
        calls.removeAll()
        throttle.send(10)
        throttle.send(11)
        time.advance(by: .seconds(10))
        let throttled = calls.all
        switch edges {
        case .leading:
            #expect(debounced == [Call(0, 0), Call(2, 3)] && throttled == [Call(10, 13)])
        case .trailing:
            #expect(debounced == [Call(1, 3), Call(2, 6)] && throttled == [Call(11, 16)])
        case .both:
            #expect(debounced == [Call(0, 0), Call(1, 3), Call(2, 3)] && throttled == [Call(10, 13), Call(11, 16)])
        }
    }

    @Test("A throttle calls at once, then once per period with the latest element, and never loses the last one")
    func throttling() {
        let throttle = throttle()
        // An engine's timer sends before the period ends in the same instant, because it was armed earlier.
        for element in 0..<11 {
            engine.schedule(at: start + .seconds(element)) { _ in throttle.send(element) }
        }
        time.advance(by: .seconds(60))
        #expect(calls.all == [Call(0, 0), Call(3, 3), Call(6, 6), Call(9, 9), Call(10, 12)])
        #expect(time.nextDeadline == nil)
        throttle.send(20)
        time.advance(by: .zero)
        #expect(calls.all.last == Call(20, 60))
    }

    @Test("flush() calls once, at once, with the waiting element; after discard() the next element is a first one")
    func flush() {
        let debouncer = debouncer()
        debouncer.flush()
        debouncer.send(1)
        debouncer.flush()
        time.advance(by: .seconds(10))
        #expect(calls.all == [Call(1, 0)])
        debouncer.send(2)
        debouncer.discard()
        #expect(!debouncer.isWaiting && time.nextDeadline == nil)
        time.advance(by: .seconds(10))
        #expect(calls.count == 1)
        let throttle = throttle()
        throttle.send(3)
        time.advance(by: .zero)
        throttle.send(4)
        throttle.discard()
        throttle.send(5)
        time.advance(by: .zero)
        #expect(calls.all.dropFirst() == [Call(3, 20), Call(5, 20)])
        throttle.send(6)
        throttle.flush()
        throttle.send(7)
        time.advance(by: .seconds(10))
        #expect(calls.all.suffix(2) == [Call(6, 20), Call(7, 23)])
    }

    @Test("A cancelled or released debouncer makes no more calls, accepts no element, and frees its handler")
    func cancel() {
        var debouncer: Debouncer<Int>? = debouncer()
        debouncer?.send(1)
        debouncer?.cancel()
        debouncer?.cancel()
        #expect(debouncer?.send(2) == false && debouncer?.isWaiting == false)
        #expect(canaries.count == 0)
        debouncer = self.debouncer()
        debouncer?.send(3)
        #expect(canaries.count == 1)
        debouncer = nil
        #expect(canaries.count == 0)
        time.advance(by: .seconds(10))
        #expect(calls.count == 0 && engine.liveTimers == 0)
    }

    @Test("A flushed element, or one that has passed, is delivered even if the last reference goes before its call")
    func flushedAndDropped() {
        var debouncer: Debouncer<Int>? = debouncer()
        debouncer?.send(1)
        debouncer?.flush()
        debouncer = nil
        time.advance(by: .zero)
        #expect(calls.all == [Call(1, 0)])
        var throttle: Throttle<Int>? = throttle()
        throttle?.send(2)
        throttle?.send(3)
        throttle = nil
        time.advance(by: .seconds(10))
        #expect(calls.all == [Call(1, 0), Call(2, 0)])
        #expect(canaries.count == 0 && engine.liveTimers == 0)
        // The handler itself has the last reference.
        let last = Recorder<Throttle<Int>>()
        last.append(
            Throttle(for: .seconds(1), edges: .both, engine: engine) { [self] element in
                if element == 5 { last.all.first?.send(6) }
                last.removeAll()
                record(element)
            }
        )
        last.all.first?.send(5)
        time.advance(by: .seconds(10))
        #expect(calls.all.last == Call(5, 10) && engine.liveTimers == 0)
        // Nothing is kept for a call that will never come.
        debouncer = self.debouncer()
        debouncer?.send(4)
        debouncer?.flush()
        debouncer = nil
        engine.shutdown()
        #expect(canaries.count == 0 && calls.count == 3)
    }

    @Test("A flush without an element that waits leaves the period alone")
    func flushOfNothing() {
        let throttle = throttle()
        throttle.send(1)
        time.advance(by: .zero)
        throttle.flush()
        throttle.send(2)
        time.advance(by: .zero)
        #expect(calls.all == [Call(1, 0)])
        time.advance(by: .seconds(3))
        #expect(calls.all == [Call(1, 0), Call(2, 3)])
    }

    @Test("A period that never ends lets one element pass", arguments: [BurstEdges.leading, .both])
    func endless(_ edges: BurstEdges) {
        let throttle = Throttle<Int>(for: Double.infinity, edges: edges, engine: engine) { [self] in record($0) }
        let debouncer = Debouncer<Int>(for: Double.infinity, edges: edges, engine: engine) { [self] in record(-$0) }
        for element in 1...3 {
            throttle.send(element)
            debouncer.send(element)
            time.advance(by: .seconds(1_000_000))
        }
        #expect(Set(calls.all.map(\.element)) == [1, -1] && calls.count == 2)
        #expect(throttle.isWaiting == (edges == .both) && debouncer.isWaiting == (edges == .both))
    }

    @Test("Elements that follow do not put off a call that is due")
    func due() {
        let throttle = throttle(.zero)
        engine.schedule(at: start) { [self, time] _ in
            throttle.send(1)
            engine.schedule(after: .seconds(1)) { [self] _ in record(0) }
            time.advance(by: .seconds(2))
            throttle.send(2)
        }
        time.advance(by: .zero)
        #expect(calls.all == [Call(1, 2), Call(2, 2), Call(0, 2)])
    }

    @Test("A handler that sends again at each call lets its engine's other timers fire in between")
    func sendsAgain() {
        let made = Recorder<Throttle<Int>>()
        made.append(
            Throttle(for: .zero, engine: engine) { [self] element in
                record(element)
                if element < 3 { made.all.first?.send(element + 1) }
            }
        )
        made.all.first?.send(1)
        engine.schedule(at: start) { [self] _ in record(0) }
        time.advance(by: .zero)
        #expect(calls.all.map(\.element) == [1, 0, 2, 3])
        made.removeAll()
    }

    @Test("No element is taken once the engine has ended")
    func ended() {
        let throttle = throttle()
        #expect(throttle.send(1))
        engine.shutdown()
        #expect(!throttle.send(2))
    }

    @Test("What has passed for a loop that ends is freed with its handler")
    func loopEnds() {
        let loop = TimerLoop(time: time.base)
        var throttle: Throttle<Int>? = Throttle(for: .seconds(1), engine: engine, loop: loop) {
            [canary = canaries.make()] _ in withExtendedLifetime(canary) {}
        }
        throttle?.send(1)
        loop.end()
        throttle = nil
        time.advance(by: .seconds(1))
        #expect(canaries.count == 0)
    }

    @Test("A debouncer and a throttle without a value send by send() alone")
    func withoutValue() {
        let calls = Recorder<String>()
        let throttle = Throttle<Void>(for: .seconds(3), engine: engine) { _ in calls.append("throttle") }
        let debouncer = Debouncer<Void>(for: .seconds(3), engine: engine) { _ in calls.append("debouncer") }
        #expect(throttle.send())
        #expect(debouncer.send())
        time.advance(by: .seconds(3))
        #expect(calls.all.sorted() == ["debouncer", "throttle"])
        throttle.cancel()
        debouncer.cancel()
        #expect(!throttle.send() && !debouncer.send())
    }

    @Test("A cancelled debouncer does not deliver what was flushed before")
    func flushedAndCancelled() {
        let debouncer = debouncer()
        debouncer.send(1)
        debouncer.flush()
        debouncer.cancel()
        time.advance(by: .seconds(10))
        #expect(calls.count == 0 && engine.liveTimers == 0)
    }

    @Test("The handler may send and cancel: its calls are not nested, and none comes after a cancel")
    func inHandler() {
        let made = Recorder<Throttle<Int>>()
        let throttle = Throttle<Int>(for: .seconds(1), engine: engine) { [self] element in
            record(element)
            guard element < 5, let throttle = made.all.first else { return }
            throttle.send(element + 1)
            if element == 3 { throttle.cancel() }
        }
        made.append(throttle)
        throttle.send(0)
        time.advance(by: .seconds(100))
        #expect(calls.all == [Call(0, 0), Call(1, 1), Call(2, 2), Call(3, 3)])
        made.removeAll()
    }

    @Test("An element may send another one when it is freed, because no lock is held then")
    func freed() {
        final class Message: Sendable {
            let last: Bool
            let sends: @Sendable () -> Void
            init(last: Bool, _ sends: @escaping @Sendable () -> Void) {
                self.last = last
                self.sends = sends
            }
            deinit { if !last { sends() } }
        }
        let debouncer = Debouncer<Message>(for: .seconds(1), engine: engine) { [self] message in
            record(message.last ? 1 : 0)
        }
        let send: @Sendable () -> Void = { debouncer.send(Message(last: true) {}) }
        debouncer.send(Message(last: false, send))
        debouncer.send(Message(last: false, send))
        debouncer.discard()
        time.advance(by: .seconds(5))
        #expect(calls.all.allSatisfy { $0.element == 1 })
        debouncer.cancel()
    }

    @Test("On a queue the handler runs there, one call at a time even if the queue is concurrent")
    func queue() {
        let queue = DispatchQueue(label: "paced-calls", attributes: .concurrent)
        let running = Recorder<Int>()
        let throttle = Throttle<Int>(for: .milliseconds(1), engine: engine, queue: queue) { [calls] element in
            dispatchPrecondition(condition: .onQueue(queue))
            running.append(1)
            #expect(running.count == 1)
            calls.append(Call(element, 0))
            running.removeAll()
        }
        for element in 0..<100 {
            throttle.send(element)
            time.advance(by: .microseconds(700))
        }
        for _ in 0..<10 {
            queue.sync(flags: .barrier) {}
            time.advance(by: .milliseconds(5))
        }
        #expect(calls.all.last?.element == 99)
        #expect(calls.all.map(\.element) == calls.all.map(\.element).sorted())
        throttle.cancel()
        queue.sync(flags: .barrier) {}
    }

    @Test("In a loop the handler runs in the loop's passes, in the common modes")
    func loop() {
        let loop = TimerLoop(time: time.base)
        loop.isKeptAlive = true
        let debouncer = Debouncer<Void>(for: .seconds(3), engine: engine, loop: loop) { [self] in
            #expect(TimerLoop.current === loop || loop.isOnItsThread)
            record(1)
        }
        debouncer.send()
        loop.run(for: 2)
        debouncer.send()
        loop.run(for: 10)
        #expect(calls.all == [Call(1, 5)])
    }

    @Test("A debouncer that is sent a thousand elements in ten periods wakes its engine once per period")
    func wakes() throws {
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.defersMoves = true
        let engine = try TimerEngine(configuration)
        let debouncer = Debouncer<Int>(for: .seconds(1), engine: engine) { [self] element in record(element) }
        for element in 0..<1000 {
            debouncer.send(element)
            time.advance(by: .milliseconds(10))
        }
        #expect(calls.count == 0 && engine.statistics.wakeups <= 11)
        time.advance(by: .seconds(1))
        #expect(calls.all == [Call(999, 10.99)])
        let throttle = Throttle<Int>(for: .seconds(1), edges: .leading, engine: engine) { _ in }
        let before = engine.statistics.fires
        for element in 0..<1000 {
            throttle.send(element)
            time.advance(by: .milliseconds(10))
        }
        #expect(engine.statistics.fires - before == 10)
    }
}
