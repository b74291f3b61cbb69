import CHRTimer
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

@Suite("A shared alarm", .hangLimit) struct SharedAlarmContractTests {
    @Test("never expires early, on either clock", arguments: [TimerClock.monotonic, .bootTime])
    func neverEarly(clock: TimerClock) throws {
        try withSharedAlarm { sharedAlarm in
            for round in 0..<50 {
                let instant_ns = hrt_clock_now_ns(clock.c) + Int64(round * 7_000)
                hrt_shared_alarm_set(sharedAlarm, clock.c, instant_ns)
                hrt_shared_alarm_wait(sharedAlarm)
                #expect(hrt_clock_now_ns(clock.c) >= instant_ns)
            }
        }
    }

    @Test("expires at once for a past instant, also before a wait for it, and never for an instant that was replaced")
    func kept() throws {
        try withSharedAlarm { sharedAlarm in
            for instant_ns in [Int64.min, -1, 0, 1, hrt_clock_now_ns(HRT_CLOCK_MONOTONIC)] {
                hrt_shared_alarm_set(sharedAlarm, HRT_CLOCK_BOOT, .max)
                hrt_shared_alarm_set(sharedAlarm, HRT_CLOCK_MONOTONIC, instant_ns)
                hrt_shared_alarm_wait(sharedAlarm)
            }
            let deadline_ns = hrt_clock_now_ns(HRT_CLOCK_BOOT) + 5_000_000
            hrt_shared_alarm_set(
                sharedAlarm,
                HRT_CLOCK_MONOTONIC,
                hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) + 3_600_000_000_000
            )
            hrt_shared_alarm_set(sharedAlarm, HRT_CLOCK_MONOTONIC, .max)
            hrt_shared_alarm_set(sharedAlarm, HRT_CLOCK_BOOT, deadline_ns)
            hrt_shared_alarm_wait(sharedAlarm)
            #expect(hrt_clock_now_ns(HRT_CLOCK_BOOT) >= deadline_ns)
        }
    }

    @Test("wakes another thread each time, until all that wait have returned")
    func threads() throws {
        try withSharedAlarm { sharedAlarm in
            let come = Locked(0)
            // Unsafe: the threads are joined before the shared alarm goes.
            nonisolated(unsafe) let sharedAlarm = sharedAlarm
            let threads = try (0..<4).map { _ in
                try startThread {
                    hrt_shared_alarm_wait(sharedAlarm)
                    come.withLock { $0 += 1 }
                }
            }
            for number in 1...4 {
                hrt_shared_alarm_set(sharedAlarm, HRT_CLOCK_MONOTONIC, 1)
                while come.withLock({ $0 }) < number { usleep(100) }
            }
            for thread in threads { join(thread) }
        }
    }

    private func withSharedAlarm(_ body: (OpaquePointer) throws -> Void) throws {
        var made: OpaquePointer?
        #expect(hrt_shared_alarm_create(&made) == 0)
        let sharedAlarm = try #require(made)
        defer { hrt_shared_alarm_destroy(sharedAlarm) }
        try body(sharedAlarm)
    }
}
