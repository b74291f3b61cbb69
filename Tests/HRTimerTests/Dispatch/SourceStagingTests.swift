import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// What a source does between the steps of its engine, which makes up a call, maybe before the deadline, and then makes it or
/// finds it called off. The test takes the engine's steps; time is frozen.
@Suite struct SourceStagingTests {
    let time = ManualTime()
    let engine: TimerEngine
    let calls = Recorder<UInt>()
    let blocks = Recorder<Block>()
    let deadline: MonotonicInstant

    /// What was submitted to the queue.
    struct Block: Sendable {
        let run: @Sendable () -> Void
    }

    init() throws {
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.defersMoves = true
        engine = try TimerEngine(configuration)
        deadline = time.now.advanced(by: .seconds(1))
    }

    private func makeSource(onQueue: Bool = false) -> TimerSource {
        let target = SourceCore.Target { [blocks] block in blocks.append(Block(run: block)) }
        let source = TimerSource(engine: engine, target: onQueue ? target : nil)
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
        source.schedule(deadline: deadline)
        source.activate()
        return source
    }

    /// As the engine does, under its lock.
    private func begin(_ source: TimerSource, at instant: MonotonicInstant) -> (@Sendable () -> Void)? {
        engine.core.state.withLock { source.core.begin(instant.nanoseconds, &$0) }?.callback.run
    }

    private func end(_ source: TimerSource, wasCalled: Bool) {
        engine.core.state.withLock { source.core.end(wasCalled: wasCalled, &$0) }?.run()
    }

    @Test("A call made up before its deadline, called off and wanted again, comes at the deadline and not before")
    func calledOff() {
        let source = makeSource()
        _ = begin(source, at: deadline)
        source.suspend()
        end(source, wasCalled: false)
        source.resume()
        time.advance(by: .milliseconds(999))
        #expect(calls.count == 0)
        time.advance(by: .milliseconds(1))
        #expect(calls.all == [1])
    }

    @Test("Ticks of a call that was called off are not lost when the next call is called off before it was made up")
    func calledOffTwice() {
        let source = makeSource()
        _ = begin(source, at: deadline)
        source.suspend()
        end(source, wasCalled: false)
        _ = begin(source, at: deadline)
        end(source, wasCalled: false)
        source.resume()
        time.advance(by: .seconds(1))
        #expect(calls.all == [1])
    }

    @Test("Scheduled anew for what is due before its call is made up, it is called once")
    func scheduledBeforePrepare() {
        let source = makeSource()
        source.schedule(deadline: time.now)
        begin(source, at: time.now)?()
        end(source, wasCalled: true)
        time.advance(by: .seconds(10))
        #expect(calls.all == [1])
    }

    @Test("Moved later while its call is on its way to the queue, it is not called for the former deadline")
    func movedOnItsWay() throws {
        let source = makeSource(onQueue: true)
        source.schedule(deadline: time.now)
        let submit = try #require(begin(source, at: time.now))
        submit()
        source.schedule(deadline: deadline)
        try #require(blocks.all.first).run()
        #expect(calls.count == 0)
        time.advance(by: .seconds(1))
        #expect(blocks.count == 2)
        blocks.all.last?.run()
        #expect(calls.all == [1])
    }

    @Test("Cancelled when its call is made up, a queue's source calls the cancel handler on the queue")
    func cancelHandlerOnQueue() {
        let source = makeSource(onQueue: true)
        let cancels = Recorder<Int>()
        source.setCancelHandler { cancels.append(1) }
        _ = begin(source, at: deadline)
        source.cancel()
        end(source, wasCalled: false)
        #expect(cancels.count == 0)
        #expect(blocks.count == 1)
        blocks.all.forEach { $0.run() }
        #expect(cancels.count == 1)
        #expect(calls.count == 0)
    }

    @Test(
        "Dropped right after cancel, the cancel handler is called all the same, and everything freed",
        arguments: [false, true]
    )
    func droppedAfterCancel(onQueue: Bool) {
        let canaries = Canaries()
        let cancels = Recorder<Int>()
        var source: TimerSource? = makeSource(onQueue: onQueue)
        source?.setCancelHandler { [canary = canaries.make()] in
            withExtendedLifetime(canary) { cancels.append(1) }
        }
        source?.cancel()
        source = nil
        time.advance(by: .seconds(10))
        blocks.all.forEach { $0.run() }
        #expect(cancels.count == 1)
        #expect(calls.count == 0)
        #expect(canaries.count == 0)
        #expect(engine.liveTimers == 0)
    }
}
