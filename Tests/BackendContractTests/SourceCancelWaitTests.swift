// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// The order of `cancelAndWait` and the source's cancel handler.
@Suite(.serialized, .hangLimit) struct SourceCancelWaitTests {
    private let queue = DispatchQueue(label: "cancel-wait")
    private let log = Recorder<Int>()

    private func source(_ source: TimerSource, _ round: Int) -> TimerSource {
        source.setCancelHandler { [log] in log.append(round) }
        source.setEventHandler {}
        source.schedule(deadline: .now, repeating: .microseconds(20))
        source.activate()
        return source
    }

    @Test("cancelAndWait returns after the cancel handler, if that is called on the engine's thread")
    func blocking() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        for round in 0..<200 {
            source(TimerSource(engine: engine), round).cancelAndWait()
            #expect(log.count == round + 1)
        }
    }

    @Test("An awaited cancelAndWait returns after the cancel handler on a queue, too", arguments: [false, true])
    func asynchronous(onQueue: Bool) async throws {
        let engine = try TimerEngine(.init(name: "contract"))
        for round in 0..<200 {
            let one = TimerSource(flags: [], engine: engine, queue: onQueue ? queue : nil)
            await source(one, round).cancelAndWait()
            #expect(log.count == round + 1)
        }
        await engine.shutdown()
    }

    @Test("cancelAndWait on the queue of the cancel handler does not wait for that handler")
    func onItsQueue() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let one = source(TimerSource(engine: engine, queue: queue), 1)
        queue.sync {
            one.cancelAndWait()
            #expect(log.count == 0)
        }
        while log.count == 0 { usleep(100) }
    }

    @Test("cancelAndWait returns if the engine is shut down meanwhile")
    func shutdown() throws {
        for round in 0..<50 {
            let engine = try TimerEngine(.init(name: "contract"))
            let one = source(TimerSource(engine: engine), round)
            one.cancel()
            let ender = try startThread { engine.shutdown() }
            one.cancelAndWait()
            join(ender)
            #expect(log.count == round + 1)
        }
    }

    @Test("cancelAndWait on the engine's own thread does not wait for a cancel handler that must run there")
    func onEngineThread() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let hasReturned = DispatchSemaphore(value: 0)
        engine.schedule(at: .now) { _ in
            source(TimerSource(engine: engine), 1).cancelAndWait()
            hasReturned.signal()
        }
        hasReturned.wait()
        while log.count == 0 { usleep(100) }
    }
}
