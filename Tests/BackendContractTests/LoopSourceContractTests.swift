import CHRTimer
import Glibc
import HRTimer
import TestSupport
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

    @Test("A readable descriptor calls its handler, level-triggered, and ends run(mode:before:)")
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

    @Test("A descriptor that nobody reads is found once in each pass, also in one that does not wait")
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

    @Test("A writable descriptor is found at once; both directions come in one call")
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

    @Test("What cannot be watched is refused when the source is made")
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
        close(file)
        close(directory)
    }

    // Closed for good, its number would be given to another test that opens something.
    @Test("A source that the kernel refuses later, for its descriptor is another, becomes invalid, and nothing goes on")
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

    @Test("A descriptor is served in its modes alone, also when runs are nested")
    func modes() throws {
        let loop = TimerLoop()
        let pipe = makePipe()
        let calls = Recorder<String>()
        let source = try LoopSource(descriptor: pipe.read) { [self] source, _ in
            calls.append(loop.currentMode?.rawValue ?? "")
            _ = drain(source.descriptor)
        }
        try loop.add(source, forMode: .modal)
        try loop.add(source, forMode: .default)
        loop.remove(source, forMode: .default)
        #expect(!loop.contains(source, forMode: .default))
        write(pipe.write, "x", 1)
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in
            loop.run(mode: .modal, before: .distantFuture)
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
        "A descriptor with a duplicate, closed after its source was invalidated, leaves the loop idle",
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
        let used_ns = hrt_clock_thread_cpu_ns()
        loop.run(until: .now.advanced(by: .milliseconds(100)))
        #expect(hrt_clock_thread_cpu_ns() - used_ns < 50_000_000)
        for descriptor in [duplicate, pipe.write, other.read, other.write] { close(descriptor) }
    }

    @Test("One handler may invalidate the source of another that is ready as well; a descriptor number may come again")
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

    @Test("Of 100 descriptors that are ready together libevent finds 32 in a pass, then twice as many; none is left")
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
        "Signals come to the loop with their number, and the former handler is back afterwards",
        // Thread Sanitizer keeps a signal back until the thread that it came to calls something it knows.
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
        // Ignored again: this would end the process otherwise.
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
