// SPDX-License-Identifier: Apache-2.0
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

    /// A loop of the calling thread with sources of one descriptor, and what became of them.
    private final class Reader {
        let loop = TimerLoop()
        let calls = Recorder<Int>()
        let asked = Recorder<Void>()
        private let pipe: (read: Int32, write: Int32)

        init(_ triggering: LoopSource.Triggering, sources count: Int = 1) throws {
            var ends: [Int32] = [0, 0]
            try #require(Glibc.pipe(&ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
            pipe = (ends[0], ends[1])
            for number in 0..<count {
                let source = try LoopSource(descriptor: ends[0], triggering: triggering) { [calls] source, _ in
                    calls.append(number)
                    var byte: UInt8 = 0
                    read(source.descriptor, &byte, 1)
                }
                try loop.add(source, forMode: .default)
                if number == 0 { first = source }
            }
            pass()
        }

        private(set) var first: LoopSource!

        deinit {
            for descriptor in [pipe.read, pipe.write] { close(descriptor) }
        }

        /// More passes than the sources need.
        func pass() { for _ in 0..<4 { loop.run(mode: .default, before: .now) } }

        func write() { Glibc.write(pipe.write, "x", 1) }

        /// Notes that somebody has read, and what is answered when the sources' loop asks whether data still waits.
        func hasRead(_ waits: @escaping @Sendable () -> Bool) {
            TimerLoop.hasRead(pipe.read) { [asked] in
                asked.append(())
                return waits()
            }
        }

        func hasReadForNobody() { TimerLoop.hasRead(pipe.read, waits: nil) }
    }

    @Test(
        "Whether data waits is asked again before the handler, once, and the handler is called only if it does",
        arguments: [LoopSource.Triggering.level, .edge]
    )
    func asksAgain(_ triggering: LoopSource.Triggering) throws {
        let reader = try Reader(triggering)
        var (asked, calls) = (0, 0)
        for waits in [true, false, true, false, false] {
            reader.hasRead { waits }
            #expect(reader.asked.count == asked)
            reader.pass()
            (asked, calls) = (asked + 1, calls + (waits ? 1 : 0))
            #expect(reader.asked.count == asked && reader.calls.count == calls)
        }
    }

    @Test(
        "A handler that takes all that waits leaves the other sources of the descriptor uncalled",
        arguments: [LoopSource.Triggering.level, .edge]
    )
    func asksForEachSource(_ triggering: LoopSource.Triggering) throws {
        let reader = try Reader(triggering, sources: 3)
        reader.hasRead { [calls = reader.calls] in calls.count == 0 }
        reader.pass()
        #expect(reader.calls.count == 1 && reader.asked.count == 3)
        reader.hasRead { true }
        reader.pass()
        #expect(reader.calls.all.dropFirst().sorted() == [0, 1, 2] && reader.asked.count == 6)
    }

    @Test(
        "What can be read from the descriptor itself is reported although nothing waits that somebody has read",
        arguments: [LoopSource.Triggering.level, .edge]
    )
    func found(_ triggering: LoopSource.Triggering) throws {
        let reader = try Reader(triggering)
        reader.write()
        reader.hasRead { false }
        reader.pass()
        #expect(reader.calls.count == 1)
    }

    /// A source's signals before its call.
    enum Signal: Sendable { case plain, waits(Bool), readForNobody }

    @Test(
        "A signal calls the handler whatever else has read; of those who have read, the last one that left data answers",
        arguments: [
            ([.plain, .waits(false)], calls: 1, asked: 0), ([.waits(false), .plain], 1, 0),
            ([.plain, .waits(false), .waits(false)], 1, 0), ([.plain, .readForNobody], 1, 0),
            ([.waits(false), .plain, .waits(false)], 1, 0),
            ([.waits(true), .waits(false)], 0, 1), ([.waits(false), .waits(true)], 1, 1),
            ([.waits(true), .readForNobody], 1, 1), ([.waits(false), .readForNobody], 0, 1),
        ] as [([Signal], calls: Int, asked: Int)],
        [LoopSource.Triggering.level, .edge]
    )
    func keepsSignal(
        _ expected: (signals: [Signal], calls: Int, asked: Int),
        _ triggering: LoopSource.Triggering
    ) throws {
        let reader = try Reader(triggering)
        for signal in expected.signals {
            switch signal {
            case .plain: reader.first.signal()
            case .waits(let waits): reader.hasRead { waits }
            case .readForNobody: reader.hasReadForNobody()
            }
        }
        reader.pass()
        #expect(reader.calls.count == expected.calls && reader.asked.count == expected.asked)
    }
}
