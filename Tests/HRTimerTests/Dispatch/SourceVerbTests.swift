import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Verbs in odd orders, on frozen time.
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

    @Test("Suspended and resumed before it is activated, a source fires once it is")
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

    @Test("Suspended before it is activated, a source waits for the resume that balances it")
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

    @Test("A surplus activate, resume, or suspend with its resume changes no order among equal deadlines")
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
