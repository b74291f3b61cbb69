// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Calls of a precise engine that are withdrawn while its thread spins up to their deadlines, on the real clock.
@Suite(.serialized, .hangLimit) struct EngineWithdrawalContractTests {
    private typealias Flag = EngineContractTests.Flag
    private typealias Count = EngineContractTests.Count

    @Test("A precise call that waits for its deadline is withdrawn if an earlier handler, armed meanwhile, cancels it")
    func withdrawnByAnEarlierOne() throws {
        var configuration = TimerEngine.Configuration(name: "contract", precision: .precise)
        configuration.spinBudget = 1
        let engine = try TimerEngine(configuration)
        defer { engine.shutdown() }
        let calls = Count()
        var withdrawn = 0
        for _ in 0..<200 {
            let deadline = engine.now.advanced(by: .microseconds(400))
            let later = engine.schedule(at: deadline) { _ in _ = calls.add(1) }
            blockThread(until: deadline.nanoseconds - 150_000)
            let armsAt = deadline.advanced(by: Duration.microseconds(-50))
            while engine.now < armsAt {}
            let wasLive = Flag()
            let done = DispatchSemaphore(value: 0)
            let before = calls.current
            engine.schedule(at: deadline.advanced(by: Duration.microseconds(-20))) { _ in
                wasLive.set(engine.cancel(later))
                done.signal()
            }
            #expect(done.wait(timeout: .now() + 60) == .success)
            guard wasLive.isSet else { continue }
            withdrawn += 1
            // The engine's thread has released `later` once it calls another handler.
            engine.schedule(at: deadline) { _ in done.signal() }
            #expect(done.wait(timeout: .now() + 60) == .success)
            #expect(calls.current == before)
        }
        #expect(withdrawn > 0)
    }

    @Test("A precise timer that spins up to its deadline is not called if the handler of an earlier one cancels it")
    func cancelledBetweenPreparationAndCall() throws {
        let engine = try TimerEngine(.init(name: "contract", precision: .precise))
        let calledAfterCancel = Count()
        let cancelledInTime = Count()
        let calls = Count()
        for round in 0..<300 {
            let wasCancelled = Flag()
            let ended = DispatchSemaphore(value: 0)
            let deadline = engine.now.advanced(by: .microseconds(400))
            let late = engine.schedule(at: deadline) { _ in
                _ = calls.add()
                if wasCancelled.isSet { _ = calledAfterCancel.add() }
            }
            // The thread is awake some microseconds before the deadline, and on a busy machine some more.
            while engine.now.duration(to: deadline) > .microseconds(8 + round % 30 * 10) {}
            engine.schedule(at: .distantPast) { _ in
                _ = calls.add()
                if engine.cancel(late) {
                    wasCancelled.set(true)
                    _ = cancelledInTime.add()
                }
                ended.signal()
            }
            #expect(ended.wait(timeout: .now() + 60) == .success)
        }
        engine.shutdown()
        #expect(cancelledInTime.current > 0)
        #expect(calledAfterCancel.current == 0)
        #expect(engine.statistics.fires == UInt64(calls.current), "a withdrawn call is no fire")
    }

    @Test("A precise timer that spins up to its deadline is not called if an earlier handler shuts the engine down")
    func shutDownBetweenPreparationAndCall() throws {
        let shutDownInTime = Count()
        let calledAfterShutdown = Count()
        var configuration = TimerEngine.Configuration(name: "contract", precision: .precise)
        configuration.spinBudget = 1
        // On a machine so busy that no round is in time, more rounds follow, with more time each.
        for round in 0..<2000 where round < 200 || shutDownInTime.current == 0 {
            let engine = try TimerEngine(configuration)
            let wasShutDown = Flag()
            let ended = DispatchSemaphore(value: 0)
            let deadline = engine.now.advanced(by: .microseconds(400 * (1 + round / 200)))
            engine.schedule(at: deadline) { _ in
                if wasShutDown.isSet { _ = calledAfterShutdown.add() }
            }
            // On a busy machine the handler begins long after this.
            while engine.now.duration(to: deadline) > .microseconds(5 + round % 50 * 7) {}
            engine.schedule(at: .distantPast) { _ in
                if engine.now < deadline { _ = shutDownInTime.add() }
                engine.shutdown()
                wasShutDown.set(true)
                ended.signal()
            }
            #expect(ended.wait(timeout: .now() + 60) == .success)
            blockThread(until: deadline.nanoseconds + 200_000)
        }
        #expect(shutDownInTime.current > 0)
        #expect(calledAfterShutdown.current == 0)
    }
}
