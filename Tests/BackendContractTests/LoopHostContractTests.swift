// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HRTimer

/// A loop that another event loop drives through its descriptor, on the real kernel. The host is poll(2).
@Suite(.serialized, .hangLimit) struct LoopHostContractTests {
    private let loop = TimerLoop()
    private let log = Recorder<String>()

    /// Returns whether the descriptor becomes readable within the time.
    private func isReadable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, milliseconds) == 1
    }

    @Test("The descriptor is readable when a timer is due and not before, and no longer after process()")
    func timers() throws {
        let descriptor = try loop.hostDescriptor()
        loop.process()
        #expect(!isReadable(descriptor, within: 0))
        let deadline = MonotonicInstant.now.advanced(by: .milliseconds(500))
        let timer = LoopTimer(fireAt: deadline, interval: .milliseconds(10), repeats: true) { [log] _ in
            log.append("tick")
        }
        loop.add(timer, forMode: .default)
        // The timer was added outside of `process()`: the loop wakes once to arm it.
        #expect(isReadable(descriptor, within: 0))
        loop.process()
        #expect(log.count == 0)
        while log.count < 5 {
            #expect(isReadable(descriptor, within: -1))
            loop.process()
        }
        #expect(MonotonicInstant.now >= deadline.advanced(by: .milliseconds(40)))
        timer.invalidate()
        loop.process()
        #expect(!isReadable(descriptor, within: 30))
    }

    @Test("A block or a signal from within a pass makes the descriptor readable again")
    func askedInThePass() throws {
        let descriptor = try loop.hostDescriptor()
        let trigger = LoopTrigger { [log] _ in log.append("trigger") }
        loop.add(trigger, forMode: .default)
        loop.process()
        #expect(!isReadable(descriptor, within: 0))
        loop.perform { [loop, log] in
            loop.perform {
                trigger.signal()
                loop.perform { log.append("block") }
            }
        }
        var passes = 0
        while isReadable(descriptor, within: 0), passes < 10 {
            loop.process()
            passes += 1
        }
        #expect(Set(log.all) == ["block", "trigger"])
        #expect(passes < 10)
        trigger.invalidate()
    }

    @Test("Timers that were invalidated beside a pending one do not make the descriptor readable")
    func normalized() throws {
        let deadline = MonotonicInstant.now.advanced(by: .seconds(3600))
        let pending = LoopTimer(fireAt: deadline, interval: .zero, repeats: false) { _ in }
        loop.add(pending, forMode: .default)
        for seconds in 1...1000 {
            let timer = LoopTimer(timeInterval: .seconds(seconds), repeats: false) { _ in }
            loop.add(timer, forMode: .default)
            timer.invalidate()
        }
        loop.process()
        #expect(loop.core.state.withLock { $0.core.parkedUntil_ns } == deadline.nanoseconds)
        pending.invalidate()
    }

    @Test("Blocks, triggers and sources make the descriptor readable; a timer due in another mode does not")
    func others() throws {
        let descriptor = try loop.hostDescriptor()
        loop.process()
        loop.perform { [log] in log.append("block") }
        #expect(isReadable(descriptor, within: 0))
        loop.process()
        #expect(!isReadable(descriptor, within: 0))

        let trigger = LoopTrigger { [log] _ in log.append("trigger") }
        loop.add(trigger, forMode: .default)
        trigger.signal()
        #expect(isReadable(descriptor, within: 0))
        loop.process()

        var ends: [Int32] = [0, 0]
        pipe(&ends)
        let source = try LoopSource(descriptor: ends[0]) { [log] source, _ in
            log.append("source")
            source.invalidate()
        }
        try loop.add(source, forMode: .default)
        loop.process()
        #expect(!isReadable(descriptor, within: 0))
        write(ends[1], "x", 1)
        #expect(isReadable(descriptor, within: 0))
        loop.process()
        #expect(log.all == ["block", "trigger", "source"])

        let other = LoopTimer(timeInterval: .milliseconds(1), repeats: false) { [log] _ in log.append("modal") }
        loop.add(other, forMode: .modalPanel)
        loop.process()
        // It may not become readable: on a busy machine the timer was due in the call above, which put it aside.
        _ = isReadable(descriptor, within: 20)
        loop.process()
        #expect(!isReadable(descriptor, within: 20))
        loop.process(inMode: .modalPanel)
        #expect(log.all.last == "modal")
        ends.forEach { close($0) }
    }

    @Test("Waking a loop with nothing to do makes its descriptor readable once")
    func emptyLoop() throws {
        let descriptor = try loop.hostDescriptor()
        loop.process()
        loop.wakeUp()
        #expect(isReadable(descriptor, within: 0))
        loop.process()
        #expect(!isReadable(descriptor, within: 0))
    }

    @Test("A hosted loop counts as waiting between calls of process(), and not in a handler")
    func isWaiting() {
        let loop = TimerLoop()
        let seen = Recorder<Bool>()
        let timer = LoopTimer(timeInterval: .seconds(3600), repeats: false) { _ in seen.append(loop.isWaiting) }
        loop.add(timer, forMode: .default)
        loop.process()
        #expect(loop.isWaiting)
        timer.fireInstant = .now
        loop.process()
        #expect(seen.all == [false])
    }

    @Test("An earlier deadline from another thread makes the descriptor readable")
    func otherThread() throws {
        let descriptor = try loop.hostDescriptor()
        let timer = LoopTimer(timeInterval: .seconds(3600), repeats: false) { [log] _ in log.append("timer") }
        loop.add(timer, forMode: .default)
        loop.process()
        #expect(!isReadable(descriptor, within: 0))
        let other = try startThread { timer.fireInstant = .now }
        while log.count == 0 {
            #expect(isReadable(descriptor, within: 10_000))
            loop.process()
        }
        pthread_join(other, nil)
    }

    @Test("A host loses none of 9000 blocks of three threads, and its descriptor is not readable afterwards")
    func wakeRace() throws {
        let descriptor = try loop.hostDescriptor()
        loop.process()
        let threads = try (0..<3).map { _ in
            try startThread { [loop, log] in
                for _ in 0..<3000 { loop.perform { log.append("block") } }
            }
        }
        while log.count < 9000 {
            // A minute: after a lost wake it would never become readable.
            guard isReadable(descriptor, within: 60_000) else {
                Issue.record("a wake was lost after \(log.count) blocks")
                break
            }
            loop.process()
        }
        for thread in threads { pthread_join(thread, nil) }
        loop.process()
        #expect(log.count == 9000)
        #expect(!isReadable(descriptor, within: 0))
    }

    @Test("Dispatch can be the host: timers and blocks are called on its serial queue, and none early")
    func dispatch() throws {
        let queue = DispatchQueue(label: "host")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let done = DispatchSemaphore(value: 0)
        let source = DispatchSource.makeReadSource(fileDescriptor: try loop.hostDescriptor(), queue: queue)
        source.setEventHandler { [loop] in loop.process() }
        // The loop's descriptor must stay open until Dispatch no longer watches it.
        source.setCancelHandler { done.signal() }
        source.activate()
        queue.async { [loop] in loop.process() }
        loop.perform { [log] in log.append(DispatchQueue.getSpecific(key: key) == true ? "block" : "elsewhere") }
        let timer = LoopTimer(timeInterval: .milliseconds(2), repeats: true) { [log] timer in
            let isRight = DispatchQueue.getSpecific(key: key) == true && timer.fireInstant <= .now
            log.append(isRight ? "tick" : "wrong")
            if log.count >= 6 {
                timer.invalidate()
                done.signal()
            }
        }
        loop.add(timer, forMode: .default)
        #expect(done.wait(timeout: .now() + 60) == .success)
        source.cancel()
        #expect(done.wait(timeout: .now() + 60) == .success)
        #expect(log.all.sorted() == ["block", "tick", "tick", "tick", "tick", "tick"])
    }

    @Test("Without a free descriptor hostDescriptor() throws EMFILE")
    func exhausted() async {
        await #expect(processExitsWith: .success) {
            // In a child of fork(2): the test library's threads close descriptors too, which would make room for more.
            let words = inChild { say in
                let restore = Kernel.limitDescriptors(room: hasLibevent ? 3 : 1)
                let loop = TimerLoop()
                restore()
                do throws(TimerError) {
                    say("given \(try loop.hostDescriptor())")
                } catch {
                    if error != TimerError(operation: "make an event loop", errorNumber: EMFILE) { say("\(error)") }
                }
                Self.process(loop)
                say("through")
            }
            #expect(words == ["through"])
        }
    }

    private static func process(_ loop: TimerLoop) {
        loop.process()
    }
}
