// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import HRTimerCore
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// Timers, sources and links that do not keep their loop running. In manual time.
@Suite struct KeepsLoopRunningTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func quiet(every interval: Duration = .seconds(1), _ name: String = "quiet") -> LoopTimer {
        let timer = LoopTimer(timeInterval: interval, repeats: true) { [log] _ in log.append(name) }
        timer.keepsLoopRunning = false
        loop.add(timer, forMode: .common)
        return timer
    }

    private func work(after delay: Duration) {
        loop.add(LoopTimer(timeInterval: delay, repeats: false) { [log] _ in log.append("work") }, forMode: .default)
    }

    @Test("A timer that does not keep the loop running fires while others do, and the run ends with the last of them")
    func accompanies() {
        let timer = quiet()
        work(after: .milliseconds(3500))
        #expect(loop.run(for: 100) == .finished)
        #expect(log.all == ["quiet", "quiet", "quiet", "work"])
        #expect(time.now == start.advanced(by: .milliseconds(3500)))
        #expect(timer.isValid && !timer.keepsLoopRunning)
    }

    @Test("With no other timer a run is finished at once, and the timer is there for the next run")
    func alone() {
        let timer = quiet()
        #expect(loop.run(for: 100) == .finished)
        #expect(time.now == start && log.count == 0)
        work(after: .seconds(2))
        loop.run()
        #expect(log.all.sorted() == ["quiet", "quiet", "work"])
        timer.invalidate()
    }

    @Test("A handler that clears keepsLoopRunning ends the run after that pass; once it is set, the loop runs again")
    func inHandler() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { [log] timer in
            log.append("call")
            if log.count == 3 { timer.keepsLoopRunning = false }
        }
        loop.add(timer, forMode: .default)
        loop.run()
        #expect(time.now == start.advanced(by: .seconds(3)) && log.count == 3)
        timer.keepsLoopRunning = true
        #expect(loop.run(for: 2) == .timedOut)
        #expect(log.count == 5)
    }

    @Test("Modes, common modes, removal and invalidation leave the count of timers that keep the loop running right")
    func modes() {
        let timer = quiet()
        loop.addCommonMode(.init("late"))
        let own = TimerLoop.Mode("own")
        loop.add(timer, forMode: own)
        loop.remove(timer, forMode: .common)
        #expect(loop.run(mode: own, for: 5) == .finished)
        timer.keepsLoopRunning = true
        #expect(loop.run(mode: own, for: 5) == .timedOut)
        timer.keepsLoopRunning = false
        timer.keepsLoopRunning = false
        #expect(loop.run(mode: own, for: 5) == .finished)
        loop.remove(timer, forMode: own)
        timer.keepsLoopRunning = true
        loop.add(timer, forMode: .default)
        #expect(loop.run(for: 1) == .timedOut)
        timer.invalidate()
        timer.keepsLoopRunning = false
        #expect(loop.run(for: 5) == .finished)
    }

    @Test("A timer that reuses the slot of one that did not keep the loop running does keep it running")
    func slotsAreForgotten() {
        for _ in 0..<100 {
            quiet().invalidate()
            let once = LoopTimer(timeInterval: .seconds(1), repeats: false) { _ in }
            once.keepsLoopRunning = false
            loop.add(once, forMode: .default)
            work(after: .seconds(1))
            loop.run()
            #expect(!once.isValid)
        }
        #expect(time.now == start.advanced(by: .seconds(100)))
    }

    @Test("A source that does not keep the loop running is served while a timer does, and the run ends with the timer")
    func source() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let source = try LoopSource(descriptor: ends[0]) { [log] source, _ in
            var byte: UInt8 = 0
            _ = read(source.descriptor, &byte, 1)
            log.append("byte")
        }
        source.keepsLoopRunning = false
        try loop.add(source, forMode: .default)
        #expect(loop.run(for: 5) == .finished && time.now == start)
        #expect(write(ends[1], "x", 1) == 1)
        work(after: .seconds(1))
        #expect(loop.run(for: 5) == .finished)
        #expect(log.all == ["byte", "work"] && !source.keepsLoopRunning)
        source.keepsLoopRunning = true
        #expect(source.keepsLoopRunning)
        #expect(loop.run(for: 1) == .timedOut)
        source.keepsLoopRunning = false
        try loop.add(source, forMode: .tracking)
        loop.remove(source, forMode: .default)
        #expect(loop.run(mode: .tracking, for: 5) == .finished)
        source.invalidate()
        #expect(loop.run(for: 5) == .finished)
    }

    @Test("A display link that does not keep the loop running draws while others keep it running")
    func link() {
        let link = DisplayLink(framesPerSecond: 10) { [log] _ in log.append("frame") }
        link.keepsLoopRunning = false
        link.add(to: loop, forMode: .default)
        #expect(loop.run(for: 5) == .finished && time.now == start)
        work(after: .milliseconds(950))
        #expect(loop.run(for: 5) == .finished)
        #expect(log.all.filter { $0 == "frame" }.count == 9 && time.now == start.advanced(by: .milliseconds(950)))
        link.keepsLoopRunning = true
        #expect(loop.run(for: 1) == .timedOut)
        link.invalidate()
        #expect(!link.keepsLoopRunning || loop.run(for: 1) == .finished)
    }

    @Test("A sleeping run ends at once when another thread takes its last reason away", .hangLimit)
    func wakes() async {
        let timer = LoopTimer(timeInterval: .seconds(1000), repeats: true) { _ in }
        let results = Recorder<TimerLoop.RunResult>()
        let begun = Recorder<Int>()
        async let ran: Void = onThreadOfItsOwn {
            let loop = TimerLoop()
            loop.add(timer, forMode: .default)
            loop.perform { begun.append(1) }
            results.append(loop.run(for: 1000))
        }
        while begun.count == 0 { try? await Task.sleep(for: .milliseconds(1)) }
        // The run is asleep or about to sleep. It must end in both cases.
        try? await Task.sleep(for: .milliseconds(20))
        timer.keepsLoopRunning = false
        await ran
        #expect(results.all == [.finished])
        timer.invalidate()
    }
}
