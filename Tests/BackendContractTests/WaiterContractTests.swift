// SPDX-License-Identifier: Apache-2.0
import CHRLoop
import CTestSupport
import Glibc
import HRTimer
import TestSupport
import Testing

/// The guarantees of every way of waiting, on the real kernel. Lower bounds hold for every sample. Nothing has an upper bound,
/// except that it ends.
@Suite(.serialized) struct WaiterContractTests {
    private func sleepsUntilDeadline(_ waiter: Waiter, _ delay: Duration) {
        let deadline = MonotonicInstant.now.advanced(by: delay)
        #expect(!waiter.wait(until: deadline.nanoseconds))
        #expect(MonotonicInstant.now >= deadline)
    }

    @Test("A wait is never early, from a nanosecond to a tenth of a second", arguments: ParkStrategy.available)
    func neverEarly(_ way: ParkStrategy) throws {
        let waiter = try Waiter(way)
        for delay_ns in [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000] as [Int64] {
            for _ in 0..<(delay_ns < 1_000_000 ? 100 : 3) { sleepsUntilDeadline(waiter, .nanoseconds(delay_ns)) }
        }
    }

    @Test("A wait for a past, zero or negative deadline returns at once", arguments: ParkStrategy.available)
    func past(_ way: ParkStrategy) throws {
        let waiter = try Waiter(way)
        for deadline_ns in [Int64.min, -1, 0, 1, MonotonicInstant.now.nanoseconds] {
            #expect(!waiter.wait(until: deadline_ns))
        }
    }

    @Test("A wake before the wait is not lost, and several count as one", arguments: ParkStrategy.available)
    func wakeBefore(_ way: ParkStrategy) throws {
        let waiter = try Waiter(way)
        for _ in 0..<5 { waiter.wake() }
        #expect(waiter.wait(until: .max))
        sleepsUntilDeadline(waiter, .milliseconds(1))
        waiter.wake()
        #expect(waiter.wait(until: .max))
    }

    @Test("A wake from another thread ends a wait, whatever its deadline", arguments: ParkStrategy.available)
    func wakeDuring(_ way: ParkStrategy) throws {
        let waiter = try Waiter(way)
        let inAnHour_ns = MonotonicInstant.now.advanced(by: .seconds(3600)).nanoseconds
        for deadline_ns: Int64 in [.max, .max - 1, inAnHour_ns] {
            let thread = try startThread {
                blockThread(until: MonotonicInstant.now.nanoseconds + 2_000_000)
                waiter.wake()
            }
            #expect(waiter.wait(until: deadline_ns))
            join(thread)
        }
    }

    @Test("No wake is lost in ten thousand rounds of wakes that race with waits", arguments: ParkStrategy.available)
    func wakeRace(_ way: ParkStrategy) throws {
        let there = try Waiter(way)
        let back = try Waiter(way)
        let thread = try startThread {
            for _ in 0..<10_000 {
                there.wait(until: .max)
                back.wake()
            }
        }
        for _ in 0..<10_000 {
            there.wake()
            #expect(back.wait(until: .max))
        }
        join(thread)
    }

    @Test("A waiter closes the descriptors that it opened")
    func descriptors() async {
        // In a process of its own: other tests open descriptors meanwhile.
        await #expect(processExitsWith: .success) {
            for way in ParkStrategy.available {
                let before = Kernel.openDescriptors
                for _ in 0..<100 { _ = try Waiter(way) }
                // The test library has some descriptors that come and go; a leak would leave hundreds.
                #expect(Kernel.openDescriptors - before < 50)
            }
        }
    }

    @Test("Too many open files cause an error that names what failed, and leave nothing open")
    func tooManyFiles() async {
        await #expect(processExitsWith: .success) {
            // In a child of fork(2): the test library's threads close descriptors too, which would make room for more.
            let words = inChild { say in
                let expected = TimerError(operation: "make a park strategy (timerfd)", errorNumber: EMFILE)
                for room in 0..<3 {
                    let before = Kernel.openDescriptors
                    let restore = Kernel.limitDescriptors(room: room)
                    for _ in 0..<100 {
                        do throws(TimerError) {
                            _ = try Waiter(.timerfd)
                            say("made with room for \(room)")
                        } catch {
                            if error != expected { say("\(error)") }
                        }
                        if (try? Waiter(.futex)) == nil { say("no futex") }
                    }
                    restore()
                    if Kernel.openDescriptors != before { say("something is left open with room for \(room)") }
                }
                if (try? Waiter(.timerfd)) == nil { say("none when there is room again") }
                say("through")
            }
            #expect(words == ["through"])
        }
    }

    @Test("A loop's wait is exact whatever the thread's slack: a timerfd, which has no slack, waits for the last part")
    func slack() async {
        // In a process of its own: a loop that is woken arms its timerfd too.
        await #expect(processExitsWith: .success) {
            let slack_ns: Int64 = 50_000_000
            #expect(hrt_thread_set_timer_slack_ns(UInt64(slack_ns)) == 0)
            var created: OpaquePointer?
            #expect(hrt_loop_create(&created) == 0)
            let loop = created!
            hrt_loop_enter(loop)
            var trace: OpaquePointer?
            try check(ctest_trace_begin(hrt_thread_id(), &trace), "trace this thread by ptrace(2)")
            var best_ns = Int64.max
            // Delays below and above the slack. On a machine so busy that the thread comes late, nothing is left to wait for:
            // then it tries again.
            for round in 0..<40 where round < 5 || Self.settimes(trace!) == 0 || best_ns >= slack_ns / 2 {
                let delay_ns: Int64 = round % 2 == 0 ? 20_000_000 : 70_000_000
                let deadline_ns = MonotonicInstant.now.nanoseconds + delay_ns
                #expect(hrt_loop_wait(loop, deadline_ns) == 0)
                let late_ns = MonotonicInstant.now.nanoseconds - deadline_ns
                #expect(late_ns >= 0)
                best_ns = min(best_ns, late_ns)
            }
            // The timerfd was set at least once.
            #expect(Self.settimes(trace!) > 0)
            ctest_trace_end(trace!)
            hrt_loop_destroy(loop)
            #expect(best_ns < slack_ns / 2)
        }
    }

    private static func fire(at deadline: MonotonicInstant, on loop: TimerLoop) {
        loop.add(LoopTimer(fireAt: deadline) { _ in }, forMode: .default)
        loop.run()
    }

    @Test("A loop's run goes by the slack that its thread has at the begin: a timerfd waits for the last part")
    func slackOfRun() async {
        await #expect(processExitsWith: .success) {
            #expect(hrt_thread_set_timer_slack_ns(50_000_000) == 0)
            let loop = TimerLoop()
            var trace: OpaquePointer?
            try check(ctest_trace_begin(hrt_thread_id(), &trace), "trace this thread by ptrace(2)")
            // This needs an interrupt within the slack, which mostly comes.
            for _ in 0..<40 where Self.settimes(trace!) == 0 {
                let deadline = MonotonicInstant.now.advanced(by: .milliseconds(70))
                Self.fire(at: deadline, on: loop)
                #expect(MonotonicInstant.now >= deadline)
            }
            #expect(Self.settimes(trace!) > 0)
            ctest_trace_end(trace!)
        }
    }

    @Test("A past deadline teaches the spin window nothing; spun time is reported, and taken from the budget")
    func window() {
        var wait: OpaquePointer?
        var loop: OpaquePointer?
        #expect(hrt_wait_create(HRT_WAIT_FUTEX, HRT_CLOCK_MONOTONIC, &wait) == 0)
        #expect(hrt_loop_create(&loop) == 0)
        let begun_ns = MonotonicInstant.now.nanoseconds
        let budget = SpinBudget(1, now_ns: begun_ns)
        let window = SpinWindow(budget: budget)
        #expect(hrt_wait_until_spin_window(wait!, MonotonicInstant.now.nanoseconds - 1000, window.c) == 0)
        #expect(hrt_loop_wait_until_spin_window(loop!, MonotonicInstant.now.nanoseconds - 1000, window.c) == 0)
        #expect(window.c.pointee.last_latency_ns == -1)
        for isLoop in [false, true] {
            let before_ns = hrt_spin_budget_left_ns(window.c.pointee.budget, begun_ns)
            let deadline_ns = MonotonicInstant.now.nanoseconds + 2_000_000
            var now_ns: Int64 = 0
            var spun_ns: Int64 = 0
            if isLoop {
                #expect(hrt_loop_spin(loop!, deadline_ns, window.c, &now_ns, &spun_ns) == 0)
            } else {
                #expect(hrt_wait_spin_until(wait!, deadline_ns, window.c, &now_ns, &spun_ns) == 0)
            }
            #expect(now_ns >= deadline_ns)
            #expect(spun_ns > 0)
            let after_ns = hrt_spin_budget_left_ns(window.c.pointee.budget, begun_ns)
            #expect(abs(before_ns - after_ns - Double(spun_ns)) < 1)
        }
        hrt_loop_destroy(loop!)
        hrt_wait_destroy(wait!)
    }

    private static func settimes(_ trace: OpaquePointer) -> UInt32 {
        var counts = [UInt32](repeating: 0, count: Int(CTEST_SYSCALLS))
        ctest_trace_counts(trace, &counts)
        return counts[Int(CTEST_TIMERFD_SETTIME)]
    }
}
