// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import Seeded
import TestSupport
import TestTraits
import Testing

/// Sources on the real kernel, moved by one thread while another fires them.
@Suite(.serialized) struct SourceContractTests {
    @Test("A source that is moved later as it fires loses no move, and fires once per move at most")
    func movedAsItFires() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        var random = SeededRandom.fromEnvironment()
        let fires = Recorder<MonotonicInstant>()
        let fired = DispatchSemaphore(value: 0)
        let source = TimerSource(engine: engine)
        source.setEventHandler {
            fires.append(.now)
            fired.signal()
        }
        source.activate()
        var moves = 0
        for _ in 0..<300 {
            var deadline = MonotonicInstant.now
            for _ in 0..<Int.random(in: 1...30, using: &random) {
                let ahead = Duration.nanoseconds(Int64.random(in: 0...60_000, using: &random))
                deadline = max(deadline, .now.advanced(by: ahead))
                source.schedule(deadline: deadline)
                moves += 1
                let pause = Duration.nanoseconds(Int64.random(in: 0...80_000, using: &random))
                let until = MonotonicInstant.now.advanced(by: pause)
                while .now < until {}
            }
            repeat {
                try #require(fired.wait(timeout: .now() + 60) == .success, "the last move is lost")
            } while fires.all.last.map { $0 < deadline } ?? true
            // Takes further signals, so that no call is left over for the next round.
            while fired.wait(timeout: .now()) == .success {}
        }
        source.cancelAndWait()
        #expect(fires.count <= moves)
    }

    @Test("A source on a queue goes on, although its engine sleeps whenever a call has ended", .hangLimit)
    func goesOn() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let done = DispatchSemaphore(value: 0)
        let ticks = Recorder<UInt>()
        let source = TimerSource(engine: engine, queue: DispatchQueue(label: "contract"))
        source.setEventHandler { [weak source] in
            ticks.append(source?.data ?? 0)
            // Long enough for the engine's thread to sleep.
            usleep(2000)
            if ticks.count == 20 { done.signal() }
        }
        source.schedule(deadline: .now, repeating: .milliseconds(5))
        source.activate()
        #expect(done.wait(timeout: .now() + 30) == .success)
        source.cancelAndWait()
    }
}
