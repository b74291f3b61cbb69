// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer
import TestSupport
import Testing

/// Descriptors that a pass found ready and that a nested run may drain. A blocking read of a drained descriptor would hang.
@Suite(.serialized) struct LoopReadinessTests {
    let ends: [Int32]

    init() {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        self.ends = ends
    }

    private func end() { ends.forEach { close($0) } }

    private func write(_ text: String) { _ = Glibc.write(ends[1], text, text.utf8.count) }

    /// Reads one byte from a descriptor that blocks.
    private static func read(_ descriptor: Int32) -> String {
        var byte: UInt8 = 0
        return Glibc.read(descriptor, &byte, 1) == 1 ? String(UnicodeScalar(byte)) : "nothing"
    }

    /// How a nested run looks at the descriptors.
    enum Look: CaseIterable { case poll, wait, preciseWait }

    @Test("A descriptor that a nested run has drained is not served again", arguments: [1, 2], Look.allCases)
    func drained(bytes: Int, look: Look) throws {
        let loop = TimerLoop(precision: look == .preciseWait ? .precise : .coalesced)
        // A timer, since a run does not wait precisely for its limit.
        let far = LoopTimer(timeInterval: .seconds(30), repeats: false) { _ in }
        loop.add(far, forMode: .default)
        let limit: MonotonicInstant = look == .poll ? .distantPast : .now.advanced(by: .seconds(60))
        let log = Recorder<String>()
        let source = try LoopSource(descriptor: ends[0]) { [ends] _, _ in log.append(Self.read(ends[0])) }
        try loop.add(source, forMode: .default)
        let timer = LoopTimer(fireAt: .distantPast, interval: .zero, repeats: false) { [loop] _ in
            loop.run(mode: .default, before: limit)
            log.append("nested run ends")
        }
        loop.add(timer, forMode: .default)
        write(String("ab".prefix(bytes)))
        loop.run(mode: .default, before: .distantPast)
        // A byte that is still there is served by the pass that had found the descriptor ready.
        #expect(log.all == ["a", "nested run ends"] + (bytes == 2 ? ["b"] : []))
        end()
    }

    @Test("The second of two sources of a descriptor is not called for what the first one's nested run has drained")
    func twoSources() throws {
        let loop = TimerLoop()
        let log = Recorder<String>()
        let sources = try (0..<2).map { _ in
            try LoopSource(descriptor: ends[0]) { [ends, loop] source, _ in
                log.append(Self.read(ends[0]))
                source.invalidate()
                loop.run(mode: .default, before: .distantPast)
            }
        }
        for source in sources { try loop.add(source, forMode: .default) }
        write("ab")
        loop.run(mode: .default, before: .distantPast)
        #expect(log.all == ["a", "b"])
        end()
    }

    @Test("A descriptor that a handler has filled before a nested run is served for reading alone after it")
    func filled() throws {
        let loop = TimerLoop()
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let socket = ends[0]
        #expect(fcntl(socket, F_SETFL, O_NONBLOCK) == 0)
        let found = Recorder<LoopSource.Events>()
        let sources = try (0..<2).map { _ in
            try LoopSource(descriptor: socket, events: [.readable, .writable]) { [loop] source, events in
                found.append(events)
                let bytes = [UInt8](repeating: 0, count: 1 << 20)
                while Glibc.write(socket, bytes, bytes.count) > 0 {}
                source.invalidate()
                loop.run(mode: .default, before: .distantPast)
            }
        }
        for source in sources { try loop.add(source, forMode: .default) }
        #expect(Glibc.write(ends[1], "a", 1) == 1)
        loop.run(mode: .default, before: .distantPast)
        #expect(found.all == [[.readable, .writable], .readable])
        for descriptor in ends { close(descriptor) }
        end()
    }

    @Test("A writable descriptor that a nested run has looked at is served after it")
    func stillWritable() throws {
        let loop = TimerLoop()
        let log = Recorder<String>()
        let source = try LoopSource(descriptor: ends[1], events: .writable) { source, _ in
            log.append("writable")
            source.invalidate()
        }
        try loop.add(source, forMode: .default)
        loop.perform(inModes: [.modalPanel]) {}
        let timer = LoopTimer(fireAt: .distantPast, interval: .zero, repeats: false) { [loop] _ in
            loop.run(mode: .modalPanel, before: .distantPast)
            log.append("nested run ends")
        }
        loop.add(timer, forMode: .default)
        loop.run(mode: .default, before: .distantPast)
        #expect(log.all == ["nested run ends", "writable"])
        end()
    }

    @Test("A hang-up that was found before a nested run is still served after it")
    func hangUp() throws {
        let loop = TimerLoop()
        // A socket, since children of other tests also hold the other end of a pipe for a while.
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { ends.forEach { close($0) } }
        let log = Recorder<String>()
        let source = try LoopSource(descriptor: ends[0]) { source, events in
            log.append(Self.read(source.descriptor))
            #expect(events == .readable)
            source.invalidate()
        }
        try loop.add(source, forMode: .default)
        loop.perform(inModes: [.modalPanel]) {}
        let timer = LoopTimer(fireAt: .distantPast, interval: .zero, repeats: false) { [loop] _ in
            loop.run(mode: .modalPanel, before: .distantPast)
        }
        loop.add(timer, forMode: .default)
        shutdown(ends[1], Int32(SHUT_RDWR))
        loop.run(mode: .default, before: .distantPast)
        #expect(log.all == ["nothing"])
    }

    @Test("A source triggered otherwise than another one of its descriptor is refused with EINVAL, and stays usable")
    func triggering() throws {
        let loop = TimerLoop()
        let level = try LoopSource(descriptor: ends[0]) { _, _ in }
        let edge = try LoopSource(descriptor: ends[0], triggering: .edge) { _, _ in }
        try loop.add(level, forMode: .default)
        let refusal = #expect(throws: TimerError.self) { try loop.add(edge, forMode: .modalPanel) }
        #expect(refusal?.errorNumber == EINVAL)
        #expect(refusal?.description.contains("descriptor \(ends[0]) edge-triggered") == true)
        #expect(edge.isValid && level.isValid)
        // Another loop watches by itself. In this loop an edge-triggered source may come once the other one has gone.
        try TimerLoop().add(edge, forMode: .default)
        level.invalidate()
        let again = try LoopSource(descriptor: ends[0], triggering: .edge) { _, _ in }
        try loop.add(again, forMode: .default)
        try loop.add(try LoopSource(descriptor: ends[0], triggering: .edge) { _, _ in }, forMode: .default)
        #expect(throws: TimerError.self) {
            try loop.add(try LoopSource(descriptor: ends[0]) { _, _ in }, forMode: .default)
        }
        again.invalidate()
        end()
    }

    @Test("A source in the common modes that is removed from .default stays in the other common modes")
    func commonModes() throws {
        let loop = TimerLoop()
        let log = Recorder<String>()
        let source = try LoopSource(descriptor: ends[0]) { [loop] _, _ in log.append(loop.currentMode!.rawValue) }
        loop.addCommonMode(.modalPanel)
        try loop.add(source, forMode: .common)
        loop.remove(source, forMode: .default)
        write("a")
        #expect(!loop.run(mode: .default, before: .distantPast))
        #expect(loop.run(mode: .modalPanel, before: .distantPast))
        loop.addCommonMode(.eventTracking)
        #expect(loop.contains(source, forMode: .eventTracking))
        loop.remove(source, forMode: .common)
        #expect(!loop.run(mode: .modalPanel, before: .distantPast))
        #expect(log.all == [TimerLoop.Mode.modalPanel.rawValue])
        end()
    }
}
