// SPDX-License-Identifier: Apache-2.0
import CTestSupport
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// Tests of a source's memory, since there may be hundreds of thousands. `bench ops memory` measures all of it, beside Dispatch.
@Suite struct SourceMemoryTests {
    @Test("A source's state takes less than one and a half cache lines, and its engine's record one word more at most")
    func sizes() {
        #expect(MemoryLayout<SourceCore.State>.size <= 88)
        // The word is the jitter's, which most timers do not have.
        #expect(MemoryLayout<TimerRecord>.stride <= 104)
    }

    // A sanitizer's malloc has other sizes.
    @Test("A source's object takes at most 136 bytes", .disabled(if: isSanitized))
    func objectSize() throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        // glibc rounds up to a multiple of 16, uses 8 of these itself, and leaves 16 more if they are too few for a block. There
        // are more sources than such blocks, which tests beside this one have freed.
        let sources = (0..<5_000).map { _ in TimerSource(engine: engine) }
        let sizes = sources.map { ctest_heap_bytes(Unmanaged.passUnretained($0.core).toOpaque()) }
        #expect(sizes.min()! <= 136)
        withExtendedLifetime(sources) {}
    }

    @Test(
        "A new source has no timer in its engine; its first method call makes one, which lasts until it is cancelled"
    )
    func firstVerb() throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        let verbs: [(TimerSource) -> Void] = [
            { $0.setEventHandler {} }, { $0.setCancelHandler {} }, { $0.setRegistrationHandler {} }, { $0.activate() },
            { $0.suspend() }, { $0.resume() }, { $0.schedule(deadline: .distantFuture) }, { $0.precision = .precise },
        ]
        for verb in verbs {
            let source = TimerSource(engine: engine)
            #expect(engine.liveTimers == 0)
            verb(source)
            #expect(engine.liveTimers == 1)
            source.setCancelHandler(handler: nil)
            source.cancel()
            #expect(engine.liveTimers == 0)
        }
    }

    @Test("A cancelled source that is kept keeps nothing that its handlers for late calls have captured")
    func lateHandlers() throws {
        let time = ManualTime()
        let canaries = Canaries()
        let source = TimerSource(engine: try TimerEngine(.init(time: time.base)))
        source.onLate(beyond: .seconds(1)) { [canary = canaries.make()] _ in withExtendedLifetime(canary) {} }
        #expect(canaries.count == 1)
        source.activate()
        source.cancel()
        time.advance(by: .seconds(1))
        #expect(canaries.count == 0)
        withExtendedLifetime(source) {}
    }

    @Test("State that few sources need is allocated when it is first set, and stays when it is reset")
    func extras() throws {
        let time = ManualTime()
        let source = TimerSource(engine: try TimerEngine(.init(time: time.base)))
        func hasExtras() -> Bool { source.core.withLock { $0.extras != nil } }
        source.setEventHandler {}
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1), leeway: .milliseconds(1))
        source.policy = .burst
        source.precision = .precise
        source.precision = nil
        source.activate()
        source.suspend()
        source.resume()
        source.setTarget(queue: nil)
        source.setRegistrationHandler(handler: nil)
        source.setCancelHandler(handler: nil)
        time.advance(by: .seconds(3))
        #expect(!hasExtras())
        source.setCancelHandler {}
        #expect(hasExtras())
        source.setCancelHandler(handler: nil)
        #expect(hasExtras())
        source.cancel()
    }
}
