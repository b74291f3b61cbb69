import Dispatch
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HRTimer

/// Descriptors that somebody else reads too, as a display's source reads an application's connection.
@Suite(.serialized, .ownThread, .hangLimit) struct LoopReadByOthersTests {
    @Test("A read by another thread wakes a sleeping loop for its own source of the descriptor")
    func wakes() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let (loop, calls) = (TimerLoop(), Recorder<Void>())
        let source = try LoopSource(descriptor: ends[0]) { source, _ in
            calls.append(())
            source.invalidate()
        }
        try loop.add(source, forMode: .default)
        DispatchQueue.global().async { [descriptor = ends[0]] in
            while !loop.isWaiting { usleep(100) }
            TimerLoop.hasRead(descriptor) { true }
        }
        // Once the source is gone the loop has nothing to run for.
        #expect(loop.run(for: 30) == .finished)
        #expect(calls.count == 1)
    }
}
