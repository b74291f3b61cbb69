// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import HRTimerCore
import TestSupport
import Testing

/// Edge-triggered descriptors. The real kernel reports an edge once: a loop may lose none between passes and runs.
@Suite struct LoopEdgeContractTests {
    let loop = TimerLoop()
    let calls = Recorder<Int32>()

    private func makePipe() -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        return (ends[0], ends[1])
    }

    private func watch(_ descriptor: Int32, mode: TimerLoop.Mode = .default) throws -> LoopSource {
        let source = try LoopSource(descriptor: descriptor, triggering: .edge) { [calls] source, events in
            #expect(events == .readable)
            calls.append(source.descriptor)
        }
        try loop.add(source, forMode: mode)
        return source
    }

    private func end(_ sources: LoopSource..., pipes: (read: Int32, write: Int32)...) {
        for source in sources { source.invalidate() }
        for pipe in pipes {
            close(pipe.read)
            close(pipe.write)
        }
    }

    @Test("An edge makes one call, unread data none, and more data another; data from before the source is an edge too")
    func once() throws {
        let pipe = makePipe()
        write(pipe.write, "a", 1)
        let source = try watch(pipe.read)
        #expect(source.triggering == .edge)
        for _ in 0..<3 { loop.run(until: .now) }
        #expect(calls.count == 1)
        write(pipe.write, "b", 1)
        #expect(loop.run(mode: .default, before: .distantFuture))
        for _ in 0..<3 { loop.run(until: .now) }
        #expect(calls.count == 2)
        end(source, pipes: pipe)
    }

    @Test("When two edges are found together run(mode:before:) serves one, and the next run the other, without waiting")
    func oneAtATime() throws {
        let pipes = [makePipe(), makePipe()]
        let sources = try pipes.map { try watch($0.read) }
        for pipe in pipes { write(pipe.write, "a", 1) }
        for count in 1...2 {
            #expect(loop.run(mode: .default, before: .distantFuture))
            #expect(calls.count == count)
        }
        #expect(Set(calls.all) == Set(pipes.map(\.read)))
        loop.run(until: .now)
        #expect(calls.count == 2)
        for (source, pipe) in zip(sources, pipes) { end(source, pipes: pipe) }
    }

    @Test(
        "A nested run in the same mode or in another one does not lose an edge",
        arguments: [TimerLoop.Mode.default, .modalPanel]
    )
    func nested(mode: TimerLoop.Mode) throws {
        let pipe = makePipe()
        let source = try watch(pipe.read)
        loop.run(until: .now)
        write(pipe.write, "a", 1)
        let nested = LoopTimer(timeInterval: .zero, repeats: false) { [loop] _ in
            for _ in 0..<2 { loop.run(mode: mode, before: .now) }
        }
        loop.add(nested, forMode: .default)
        let other = LoopTimer(fireAt: .distantFuture, interval: .zero, repeats: false) { _ in }
        loop.add(other, forMode: .modalPanel)
        loop.run(until: .now.advanced(by: .milliseconds(1)))
        loop.run(until: .now)
        #expect(calls.count == 1)
        end(source, pipes: pipe)
    }

    @Test("A host's descriptor becomes readable once for an edge")
    func host() throws {
        let pipe = makePipe()
        let source = try watch(pipe.read)
        let descriptor = try loop.hostDescriptor()
        var host = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        loop.process()
        write(pipe.write, "a", 1)
        for expected in [1, 0] {
            #expect(poll(&host, 1, expected == 1 ? 1000 : 0) == expected)
            loop.process()
            #expect(calls.count == 1)
        }
        end(source, pipes: pipe)
    }

    @Test("A source that watches no events is refused when it is made")
    func noEvents() {
        let error = #expect(throws: TimerError.self) { _ = try LoopSource(descriptor: 0, events: []) { _, _ in } }
        #expect(error?.errorNumber == EINVAL)
    }
}
