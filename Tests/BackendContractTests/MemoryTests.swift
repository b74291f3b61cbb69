// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import Glibc
import HRTimer
import TestSupport
import Testing

/// The memory that many timers leave behind when they are gone. Each test has a process of its own: others allocate meanwhile.
@Suite(.enabled(if: !isSanitized, "sanitizers keep what is freed")) struct MemoryTests {
    private static let crowd = 1_000_000

    /// Resident bytes of the process, the second number of proc_pid_statm(5) in pages.
    private static var resident: Int {
        ctest_give_memory_back()
        let pages = Kernel.text(of: "/proc/self/statm")?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (pages ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Returns whether memory comes back, within a minute, to within a tenth of what it was.
    private static func comesBack(to before: Int) -> Bool {
        for _ in 0..<600 {
            if resident <= before + before / 10 { return true }
            blockThread(until: MonotonicInstant.now.nanoseconds + 100_000_000)
        }
        return false
    }

    @Test("A million timers armed and cancelled on an engine leave its memory as it was", .timeLimit(.minutes(15)))
    func engine() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine()
            func crowd(_ count: Int) {
                let deadline = engine.now.advanced(by: .seconds(600))
                let tokens = (0..<count).map { index in
                    engine.schedule(at: deadline.advanced(by: .microseconds(index))) { _ in }
                }
                for token in tokens { engine.cancel(token) }
                // The engine cleans up when it has looked at its queue, for this timer.
                engine.schedule(at: .distantPast) { _ in }
            }
            let pending = engine.schedule(after: .seconds(3600)) { _ in }
            crowd(1000)
            let before = Self.resident
            crowd(Self.crowd)
            #expect(Self.comesBack(to: before))
            #expect(engine.liveTimers == 1)
            #expect(engine.cancel(pending))
        }
    }

    @Test("10,000 ticks leave nothing of their consumer's sleeps, whatever the engine's precision")
    func ticks() async {
        await #expect(processExitsWith: .success) {
            for precision in TimerPrecision.allCases {
                let clock = MonotonicClock(engine: try TimerEngine(.init(precision: precision)))
                var ticks = clock.ticks(every: .microseconds(100)).makeAsyncIterator()
                for _ in 0..<100 { _ = await ticks.next() }
                let before = ctest_heap_used()
                for _ in 0..<10_000 { _ = await ticks.next() }
                #expect(ctest_heap_used() < before + 500_000, "\(precision)")
            }
        }
    }

    @Test("A million timers added to a loop and invalidated leave its memory as it was", .timeLimit(.minutes(15)))
    func loop() async {
        await #expect(processExitsWith: .success) {
            let thread = try TimerLoop.thread(name: "crowd")
            func crowd(_ count: Int) {
                let deadline = thread.loop.now.advanced(by: .seconds(600))
                let timers = (0..<count).map { index in
                    let instant = deadline.advanced(by: .microseconds(index))
                    let timer = LoopTimer(fireAt: instant, interval: .zero, repeats: false) { _ in }
                    thread.loop.add(timer, forMode: .default)
                    return timer
                }
                for timer in timers { timer.invalidate() }
                thread.loop.wakeUp()
            }
            let pending = LoopTimer(timeInterval: .seconds(3600), repeats: false) { _ in }
            thread.loop.add(pending, forMode: .default)
            crowd(1000)
            let before = Self.resident
            crowd(Self.crowd)
            #expect(Self.comesBack(to: before))
            #expect(thread.loop.liveTimers == 1)
            await thread.shutdown()
        }
    }
}
