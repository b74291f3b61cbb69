// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Dispatch
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Descriptors and signals in the loop, on the real kernel.
@Suite(.serialized) struct LoopSourceContractTests {
    private func makePipe() -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        return (ends[0], ends[1])
    }

    private func drain(_ descriptor: Int32) -> Int {
        var bytes = [UInt8](repeating: 0, count: 4096)
        return max(0, read(descriptor, &bytes, bytes.count))
    }

    @Test("A readable descriptor calls its level-triggered handler, and ends run(mode:before:)")
    func readable() throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let calls = Recorder<LoopSource.Events>()
        let source = try LoopSource(descriptor: pipe.read) { source, events in calls.append(events) }
        try loop.add(source, forMode: .default)
        #expect(loop.run(mode: .default, before: .now))
        #expect(calls.count == 0)
        write(pipe.write, "ab", 2)
        #expect(loop.run(mode: .default, before: .distantFuture))
        #expect(loop.run(mode: .default, before: .distantFuture))
        #expect(calls.all == [.readable, .readable])
        #expect(drain(pipe.read) == 2)
        loop.run(mode: .default, before: .now)
        #expect(calls.count == 2)
        // The end of file is readable as well.
        close(pipe.write)
        loop.run(mode: .default, before: .distantFuture)
        #expect(calls.count == 3)
        source.invalidate()
        close(pipe.read)
        #expect(!loop.run(mode: .default, before: .distantFuture))
    }

    @Test("A descriptor that nobody reads is found once in each pass, also in a pass that does not wait")
    func unread() throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let calls = Recorder<Int>()
        let source = try LoopSource(descriptor: pipe.read) { _, _ in calls.append(1) }
        try loop.add(source, forMode: .default)
        write(pipe.write, "x", 1)
        for _ in 0..<5 { loop.run(until: .now) }
        #expect(calls.count == 5)
        source.invalidate()
        close(pipe.read)
        close(pipe.write)
    }

    @Test("A writable descriptor is found at once, and both directions come in one call")
    func writable() throws {
        let loop = TimerLoop()
        var ends: [Int32] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        let calls = Recorder<LoopSource.Events>()
        let source = try LoopSource(descriptor: ends[0], events: [.readable, .writable]) { source, events in
            calls.append(events)
            source.invalidate()
        }
        write(ends[1], "x", 1)
        try loop.add(source, forMode: .default)
        loop.run()
        #expect(calls.all == [[.readable, .writable]])
        ends.forEach { close($0) }
    }

    @Test("A descriptor that cannot be watched is refused when its source is made")
    func refused() throws {
        func error(_ descriptor: Int32) -> Int32? {
            do {
                _ = try LoopSource(descriptor: descriptor) { _, _ in }
                return nil
            } catch {
                return error.errorNumber
            }
        }
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        let directory = open("/", O_RDONLY | O_CLOEXEC)
        #expect(error(-1) == EBADF)
        #expect(error(9999) == EBADF)
        #expect(error(file) == EPERM)
        #expect(error(directory) == EPERM)
        // Devices that are always ready: epoll_ctl(2) refuses them as well.
        for path in ["/dev/null", "/dev/zero", "/dev/full"] {
            let device = open(path, O_RDWR | O_CLOEXEC)
            #expect(error(device) == EPERM, "\(path)")
            close(device)
        }
        close(file)
        close(directory)
    }

    @Test("A sentence explains why a descriptor cannot be watched, and nothing is written to standard error")
    func refusedInWords() throws {
        let device = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(device) }
        let error = #expect(throws: TimerError.self) { try LoopSource(descriptor: device) { _, _ in } }
        #expect(error?.errorNumber == EPERM)
        #expect("\(error!)".contains("always ready"))
        // A source that was made while its descriptor was a pipe is refused when it is watched.
        let (loop, pipe) = (TimerLoop(), makePipe())
        let source = try LoopSource(descriptor: pipe.read) { _, _ in }
        #expect(dup2(device, pipe.read) == pipe.read)
        let written = try standardError {
            try loop.add(source, forMode: .default)
            loop.run()
        }
        #expect(!source.isValid)
        #expect(!written.contains("[warn]"), "\(written)")
        for descriptor in [pipe.read, pipe.write] { close(descriptor) }
    }

    /// Returns what is written to standard error while `body` runs, also by other tests.
    private func standardError(_ body: () throws -> Void) throws -> String {
        var name = Array("/tmp/stderr.XXXXXX".utf8CString)
        let file = mkstemp(&name)
        unlink(name)
        let before = dup(STDERR_FILENO)
        dup2(file, STDERR_FILENO)
        defer {
            dup2(before, STDERR_FILENO)
            for descriptor in [file, before] { close(descriptor) }
        }
        try body()
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = pread(file, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    @Test("A source signalled any number of times is called once, although nothing can be read, and not again")
    func signalled() throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let calls = Recorder<LoopSource.Events>()
        let source = try LoopSource(descriptor: pipe.read) { _, events in calls.append(events) }
        // The source is in no loop: the signal is lost.
        source.signal()
        try loop.add(source, forMode: .default)
        loop.run(mode: .default, before: .now)
        #expect(calls.all == [])
        source.signal()
        source.signal()
        #expect(loop.run(mode: .default, for: 10, returnsAfterSource: true) == .handledSource)
        #expect(loop.run(mode: .default, for: 0, returnsAfterSource: true) == .timedOut)
        #expect(calls.all == [.readable])
        source.invalidate()
        source.signal()
        loop.run(mode: .default, before: .now)
        #expect(calls.count == 1)
        for descriptor in [pipe.read, pipe.write] { close(descriptor) }
    }

    @Test("A signalled source is called for reading if it waits for that, and otherwise for writing")
    func signalledEvents() throws {
        let loop = TimerLoop()
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        // Nothing can be read or written.
        #expect(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        let bytes = [UInt8](repeating: 0, count: 1 << 20)
        while write(ends[0], bytes, bytes.count) > 0 {}
        for (events, expected) in [([.writable], .writable), ([.readable, .writable], .readable)]
            as [(LoopSource.Events, LoopSource.Events)]
        {
            let calls = Recorder<LoopSource.Events>()
            let source = try LoopSource(descriptor: ends[0], events: events) { _, events in calls.append(events) }
            try loop.add(source, forMode: .default)
            source.signal()
            loop.run(mode: .default, before: .now)
            #expect(calls.all == [expected])
            source.invalidate()
        }
        for descriptor in ends { close(descriptor) }
    }

    @Test(
        "A source both signalled and found ready is called once for both, if the call reads the data",
        arguments: [LoopSource.Triggering.level, .edge]
    )
    func signalledAndFound(_ triggering: LoopSource.Triggering) throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let calls = Recorder<Int>()
        let source = try LoopSource(descriptor: pipe.read, triggering: triggering) { [self] source, _ in
            calls.append(drain(source.descriptor))
        }
        try loop.add(source, forMode: .default)
        write(pipe.write, "abc", 3)
        source.signal()
        loop.run(until: .now + .milliseconds(1))
        #expect(calls.all.reduce(0, +) == 3)
        #expect(calls.count == 1 || triggering == .edge)
        // A timer signals the source in a pass that has found it ready already.
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: false) { [self] _ in
            _ = drain(pipe.read)
            source.signal()
        }
        loop.add(timer, forMode: .default)
        usleep(2000)
        let before = calls.count
        write(pipe.write, "d", 1)
        loop.run(until: .now + .milliseconds(1))
        #expect(calls.all.dropFirst(before) == [0])
        source.invalidate()
        for descriptor in [pipe.read, pipe.write] { close(descriptor) }
    }

    @Test("A signal is kept until the loop runs in a mode of the source, also through runs in other modes")
    func signalledInAnotherMode() throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let calls = Recorder<Void>()
        let source = try LoopSource(descriptor: pipe.read) { _, _ in calls.append(()) }
        try loop.add(source, forMode: .tracking)
        loop.isKeptAlive = true
        loop.run(mode: .tracking, before: .now)
        source.signal()
        for _ in 0..<3 { loop.run(mode: .default, before: .now) }
        #expect(calls.count == 0)
        loop.run(mode: .tracking, before: .now)
        #expect(calls.count == 1)
        source.invalidate()
        for descriptor in [pipe.read, pipe.write] { close(descriptor) }
    }

    @Test("A signal from another thread wakes a sleeping loop", .hangLimit)
    func signalWakes() throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let source = try LoopSource(descriptor: pipe.read) { source, _ in source.invalidate() }
        try loop.add(source, forMode: .default)
        DispatchQueue.global().async {
            while !loop.isWaiting { usleep(100) }
            source.signal()
        }
        // Once the source is gone the loop has nothing to run for.
        #expect(loop.run() == .finished)
        for descriptor in [pipe.read, pipe.write] { close(descriptor) }
    }

    // The descriptor is replaced, not closed: a test that opens something would get a closed number.
    @Test("A source whose descriptor turns into a file that the kernel refuses becomes invalid, and the run ends")
    func closedEarly() throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let source = try LoopSource(descriptor: pipe.read) { _, _ in }
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        #expect(dup2(file, pipe.read) == pipe.read)
        try loop.add(source, forMode: .default)
        loop.run()
        #expect(!source.isValid)
        for descriptor in [file, pipe.read, pipe.write] { close(descriptor) }
    }

    @Test("A descriptor is served only in its source's modes, also in nested runs")
    func modes() throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let calls = Recorder<String>()
        let source = try LoopSource(descriptor: pipe.read) { [self] source, _ in
            calls.append(loop.currentMode?.rawValue ?? "")
            _ = drain(source.descriptor)
        }
        try loop.add(source, forMode: .modalPanel)
        try loop.add(source, forMode: .default)
        loop.remove(source, forMode: .default)
        #expect(!loop.contains(source, forMode: .default))
        write(pipe.write, "x", 1)
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in
            loop.run(mode: .modalPanel, before: .distantFuture)
        }
        loop.add(timer, forMode: .default)
        loop.run()
        #expect(calls.all == ["NSModalPanelRunLoopMode"])
        source.invalidate()
        close(pipe.read)
        close(pipe.write)
    }

    @Test("A source added twice to a mode counts once, and so does its removal (test_addingRemovingPorts)")
    func addedTwice() throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let calls = Recorder<Int>()
        let source = try LoopSource(descriptor: pipe.read) { _, _ in calls.append(1) }
        for _ in 0..<2 { try loop.add(source, forMode: .default) }
        write(pipe.write, "x", 1)
        loop.run(until: .now)
        #expect(calls.count == 1)
        #expect(loop.limitInstant(forMode: .default) == .distantFuture)
        loop.remove(source, forMode: .default)
        #expect(!loop.run(mode: .default, before: .distantFuture))
        close(pipe.read)
        close(pipe.write)
    }

    @Test(
        "A descriptor closed after its source was invalidated leaves the loop idle, although a duplicate is open",
        arguments: ["in its handler", "between runs"]
    )
    func closedWithDuplicate(how: String) throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        // The epoll set knows the open file, which lives on with the duplicate and stays readable.
        let duplicate = dup(pipe.read)
        let source = try LoopSource(descriptor: pipe.read) { source, _ in
            guard how == "in its handler" else { return }
            source.invalidate()
            close(source.descriptor)
        }
        try loop.add(source, forMode: .default)
        write(pipe.write, "x", 1)
        loop.run(mode: .default, before: .distantFuture)
        if how == "between runs" {
            source.invalidate()
            close(source.descriptor)
        }
        let other = makePipe()
        try loop.add(LoopSource(descriptor: other.read) { _, _ in }, forMode: .default)
        let used_ns = cbench_thread_cpu_ns()
        loop.run(until: .now.advanced(by: .milliseconds(100)))
        #expect(cbench_thread_cpu_ns() - used_ns < 50_000_000)
        for descriptor in [duplicate, pipe.write, other.read, other.write] { close(descriptor) }
    }

    @Test("A handler may invalidate another source that is ready as well, and a descriptor number may come again")
    func invalidateOther() throws {
        let loop = TimerLoop()
        let pipes = [makePipe(), makePipe()]
        let sources = Recorder<LoopSource>()
        let calls = Recorder<Int32>()
        for pipe in pipes {
            let source = try LoopSource(descriptor: pipe.read) { source, _ in
                calls.append(source.descriptor)
                for source in sources.all { source.invalidate() }
            }
            sources.append(source)
            write(pipe.write, "x", 1)
            try loop.add(source, forMode: .default)
        }
        loop.run()
        #expect(calls.count == 1)
        for pipe in pipes {
            close(pipe.read)
            close(pipe.write)
        }
        let again = makePipe()
        // The same number as before, unless another test was quicker to take it.
        let source = try LoopSource(descriptor: again.read) { source, _ in
            calls.append(-1)
            source.invalidate()
        }
        try loop.add(source, forMode: .default)
        write(again.write, "x", 1)
        loop.run()
        #expect(calls.all.last == -1)
        close(again.read)
        close(again.write)
    }

    @Test("Of 100 ready descriptors libevent finds 32 in one pass and twice as many in the next; none is left out")
    func many() throws {
        let loop = TimerLoop()
        let canaries = Canaries()
        let calls = Recorder<Int32>()
        let pipes = (0..<100).map { _ in makePipe() }
        for pipe in pipes {
            let canary = canaries.make()
            let source = try LoopSource(descriptor: pipe.read) { source, _ in
                calls.append(source.descriptor)
                withExtendedLifetime(canary) {}
                source.invalidate()
            }
            write(pipe.write, "x", 1)
            try loop.add(source, forMode: .default)
        }
        for _ in 0..<3 { loop.run(until: .now) }
        #expect(Set(calls.all) == Set(pipes.map(\.read)))
        #expect(calls.count == 100)
        #expect(canaries.count == 0)
        for pipe in pipes {
            close(pipe.read)
            close(pipe.write)
        }
    }

    @Test(
        "A signal source tells how often the signal came, and the former handler is back after its end",
        // Thread Sanitizer holds a signal back until the thread that got it makes a call that the sanitizer knows.
        .disabled(if: isSanitized)
    )
    func signals() throws {
        signal(SIGUSR1, SIG_IGN)
        let loop = TimerLoop()
        let counts = Recorder<Int>()
        do {
            let source = try LoopSource.signal(SIGUSR1) { source, count in
                counts.append(count)
                if counts.count < 3 { kill(getpid(), SIGUSR1) } else { source.invalidate() }
            }
            #expect(throws: TimerError.self) { try LoopSource.signal(SIGUSR1) { _, _ in } }
            try loop.add(source, forMode: .default)
            kill(getpid(), SIGUSR1)
            loop.run(until: .now.advanced(by: .seconds(30)))
        }
        #expect(counts.all == [1, 1, 1])
        // SIGUSR1 is ignored again: otherwise it would end the process.
        loop.run(until: .now)
        kill(getpid(), SIGUSR1)
        #expect(throws: TimerError.self) { try LoopSource.signal(SIGKILL) { _, _ in } }
        #expect(throws: TimerError.self) { try LoopSource.signal(-1) { _, _ in } }
        #expect(throws: TimerError.self) { try LoopSource.signal(Int32.max) { _, _ in } }
        signal(SIGUSR1, SIG_DFL)
    }

    @Test("A signal that interrupts the wait neither shortens nor lengthens it")
    func interrupted() throws {
        let loop = TimerLoop()
        let before = signal(SIGUSR2) { _ in }
        let thread = pthread_self()
        let interrupter = try startThread {
            for _ in 0..<50 {
                usleep(500)
                pthread_kill(thread, SIGUSR2)
            }
        }
        let start = MonotonicInstant.now
        loop.isKeptAlive = true
        loop.run(until: start.advanced(by: .milliseconds(30)))
        #expect(start.duration(to: .now) >= .milliseconds(30))
        pthread_join(interrupter, nil)
        signal(SIGUSR2, before)
    }
}
