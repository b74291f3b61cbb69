import HRTimerTesting
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// What hundreds of thousands of sources take. `bench ops memory` measures all of it, beside Dispatch.
@Suite struct SourceMemoryTests {
    @Test("A source's state takes two cache lines at most, and its engine's record one")
    func sizes() {
        #expect(MemoryLayout<SourceCore.State>.size <= 120)
        #expect(MemoryLayout<EngineState.Timer>.stride == 64)
    }

    @Test("What few sources have is not there until it is set, and stays when it is taken back")
    func extras() throws {
        let time = ManualTime()
        let source = TimerSource(engine: try TimerEngine(.init(time: time.base)))
        func hasExtras() -> Bool { source.core.withLock { $0.extras != nil } }
        source.setEventHandler {}
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1), leeway: .milliseconds(1))
        source.missedTickPolicy = .burst
        source.precision = .precise
        source.precision = nil
        source.activate()
        source.suspend()
        source.resume()
        source.setTarget(queue: nil)
        source.setRegistrationHandler(nil)
        source.setCancelHandler(nil)
        time.advance(by: .seconds(3))
        #expect(!hasExtras())
        source.setCancelHandler {}
        #expect(hasExtras())
        source.setCancelHandler(nil)
        #expect(hasExtras())
        source.cancel()
    }
}
