// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// The asynchronous counterparts of blocking calls, on the real kernel.
@Suite(.serialized, .hangLimit) struct AsyncTwinTests {
    private let ended = Recorder<String>()

    /// Waits until the handler has begun, and returns while it still runs.
    private func began(_ begun: Recorder<Bool>) async throws {
        while begun.count == 0 { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test("cancelAndWait in an asynchronous function waits for the running handler of a timer or a source")
    func cancel() async throws {
        let engine = try TimerEngine()
        let begun = Recorder<Bool>()
        let token = engine.schedule(at: .now, every: .milliseconds(1)) { [ended] _ in
            begun.append(true)
            usleep(30_000)
            ended.append("engine's")
        }
        try await began(begun)
        await engine.cancelAndWait(token)
        let calls = begun.count
        #expect(ended.count == calls)
        #expect(await engine.cancelAndWait(token) == false)

        begun.removeAll()
        ended.removeAll()
        let source = TimerSource(engine: engine)
        source.setEventHandler { [ended] in
            begun.append(true)
            usleep(30_000)
            ended.append("source's")
        }
        source.schedule(deadline: .now)
        source.activate()
        try await began(begun)
        await source.cancelAndWait()
        #expect(ended.all == ["source's"])
    }

    @Test("Shutdown in an asynchronous function waits for the thread of an engine or a loop, for every caller")
    func end() async throws {
        let begun = Recorder<Bool>()
        let worker = try TimerLoop.thread()
        worker.loop.perform { [ended] in
            begun.append(true)
            usleep(30_000)
            ended.append("loop's")
        }
        try await began(begun)
        async let first: Void = worker.shutdown()
        async let second: Void = worker.shutdown()
        _ = await (first, second)
        #expect(ended.all == ["loop's"])

        let engine = try TimerEngine()
        #expect(await !engine.awaitSettingResults().isEmpty)
        begun.removeAll()
        engine.schedule(at: .now) { [ended] _ in
            begun.append(true)
            usleep(30_000)
            ended.append("engine's")
        }
        try await began(begun)
        await engine.shutdown()
        await engine.shutdown()
        #expect(ended.all == ["loop's", "engine's"])
        #expect(engine.liveTimers == 0)

        let work = try LoopWorker { [ended] loop in
            loop.perform {
                usleep(10_000)
                ended.append("work's")
            }
        }
        await work.wait()
        #expect(work.isFinished && ended.all.last == "work's")
    }
}
