import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of `activate`, `suspend` and `resume` in unusual orders, on frozen time.
@Suite struct SourceVerbTests {
    let time = ManualTime()
    let engine: TimerEngine
    let calls = Recorder<String>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
    }

    private func source(_ name: String) -> TimerSource {
        let source = TimerSource(engine: engine)
        source.setEventHandler { [calls] in calls.append(name) }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)))
        return source
    }

    @Test("A source suspended and resumed before activation fires once it is activated")
    func resumedBeforeActivation() {
        let source = source("a")
        source.suspend()
        source.resume()
        time.advance(by: .seconds(2))
        #expect(calls.count == 0)
        source.activate()
        time.advance(by: .zero)
        #expect(calls.all == ["a"])
    }

    @Test("A source suspended before activation waits for the resume that balances the suspend")
    func suspendedBeforeActivation() {
        let source = source("a")
        source.suspend()
        source.activate()
        time.advance(by: .seconds(2))
        #expect(calls.count == 0)
        source.resume()
        time.advance(by: .zero)
        #expect(calls.all == ["a"])
    }

    @Test("A surplus activate, resume, or suspend with its resume does not change the order among equal deadlines")
    func surplusKeepsOrder() {
        let (first, second) = (source("first"), source("second"))
        first.activate()
        second.activate()
        first.activate()
        first.resume()
        time.advance(by: .seconds(1))
        #expect(calls.all == ["first", "second"])
    }
}
