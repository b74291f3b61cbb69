import Dispatch
import HRTimer
import Seeded
import TestSupport
import Testing

/// Sources on the real kernel, moved by one thread while another fires them.
@Suite(.serialized) struct SourceContractTests {
    @Test("Moved later as it fires, no move is lost, and it fires once a move at most")
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
            // No call is left over for the next round.
            while fired.wait(timeout: .now()) == .success {}
        }
        source.cancelAndWait()
        #expect(fires.count <= moves)
    }
}
