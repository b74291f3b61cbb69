import HRTimerCore
import Testing

/// When a schedule has its thread awake, and what wakes a thread that sleeps: to the nanosecond, told the time.
@Suite struct ScheduleWakeTests {
    /// How near before a precise deadline an ordinary one is waited for precisely too.
    private static let neighbourhood_ns: Int64 = 100_000
    private static let precise_ns: Int64 = 50_000_000

    /// When the thread is to be awake for an ordinary deadline and a precise one.
    private func wake(_ precision: TimerPrecision, ordinary_ns: Int64, precise_ns: Int64) -> TimerSchedule.Wake {
        var schedule = TimerSchedule(precision: precision)
        _ = schedule.add(deadline_ns: precise_ns, .init(isPrecise: true))
        _ = schedule.add(deadline_ns: ordinary_ns)
        return schedule.exactWake()
    }

    /// A schedule whose thread sleeps until then.
    private func asleep(_ precision: TimerPrecision, _ wake: TimerSchedule.Wake) -> TimerSchedule {
        var schedule = TimerSchedule(precision: precision)
        schedule.sleep(until: wake)
        return schedule
    }

    private func isWoken(
        _ schedule: inout TimerSchedule,
        by deadline_ns: Int64,
        _ asked: TimerSchedule.Asked = .init()
    ) -> Bool {
        let token = schedule.add(deadline_ns: deadline_ns, asked)
        return schedule.mustWake(for: token, deadline_ns)
    }

    @Test(
        "An ordinary timer less than 100 µs before a precise one is waited for precisely too; one further off is not",
        arguments: [.normal, .coalesced] as [TimerPrecision]
    )
    func neighbour(_ precision: TimerPrecision) {
        for (before_ns, isPrecise) in [
            (-1, true), (0, true), (1, true), (Self.neighbourhood_ns - 1, true), (Self.neighbourhood_ns, false),
            (Self.neighbourhood_ns + 1, false),
        ] {
            let wake = wake(precision, ordinary_ns: Self.precise_ns - before_ns, precise_ns: Self.precise_ns)
            #expect(wake.at_ns == Self.precise_ns - max(0, before_ns))
            #expect(wake.isPrecise == isPrecise, "\(before_ns) ns before")
        }
    }

    @Test("Armed again a precise timer is one still, and what it asks for anew counts from then on")
    func armedAgain() {
        var schedule = TimerSchedule(precision: .normal)
        let timer = schedule.add(deadline_ns: 1000, .init(isPrecise: true))
        schedule.arm(timer, 2000)
        let again = schedule.exactWake()
        #expect(again.at_ns == 2000 && again.isPrecise)
        schedule.ask(.init(), for: timer)
        schedule.arm(timer, 3000)
        let ordinary = schedule.exactWake()
        #expect(ordinary.at_ns == 3000 && !ordinary.isPrecise)
    }

    @Test("Without a precise timer only a precise schedule waits precisely")
    func withoutPrecise() {
        for precision in TimerPrecision.allCases {
            var schedule = TimerSchedule(precision: precision)
            _ = schedule.add(deadline_ns: 5)
            let wake = schedule.exactWake()
            #expect(wake.at_ns == 5)
            #expect(wake.isPrecise == (precision == .precise))
        }
    }

    @Test("The end of a window before a precise timer is waited for precisely if that is nearer than 100 µs")
    func windowBeforePrecise() {
        for (end_ns, isPrecise) in [
            (Self.precise_ns - Self.neighbourhood_ns, false), (Self.precise_ns - Self.neighbourhood_ns + 1, true),
        ] {
            var schedule = TimerSchedule(precision: .coalesced)
            _ = schedule.add(deadline_ns: Self.precise_ns, .init(isPrecise: true))
            _ = schedule.add(deadline_ns: end_ns - 2_000_000, .init(tolerance_ns: 2_000_000))
            let wake = schedule.exactWake()
            #expect(wake.at_ns == end_ns)
            #expect(wake.isPrecise == isPrecise)
        }
    }

    @Test(
        "A thread that sleeps is woken, once, for an earlier deadline and not for the same",
        arguments: [false, true]
    )
    func ordinary(isPrecise: Bool) {
        let precision = isPrecise ? TimerPrecision.precise : .normal
        var schedule = asleep(precision, .init(at_ns: 1_000_000, isPrecise: isPrecise))
        for (deadline_ns, isExpected) in [(1_000_001, false), (1_000_000, false), (999_999, true), (5, false)]
            as [(Int64, Bool)]
        {
            let isWoken = isWoken(&schedule, by: deadline_ns)
            #expect(isWoken == isExpected, "\(deadline_ns)")
        }
        #expect(schedule.sleepsUntil_ns == .min)
    }

    @Test("A precise timer wakes a thread that would wake less than 100 µs before it and not precisely")
    func precise() {
        for (after_ns, isExpected) in [
            (Self.neighbourhood_ns + 1, false), (Self.neighbourhood_ns, false), (Self.neighbourhood_ns - 1, true),
            (0, true), (-1, true),
        ] {
            var schedule = asleep(.normal, .init(at_ns: Self.precise_ns))
            let isWoken = isWoken(&schedule, by: Self.precise_ns + after_ns, .init(isPrecise: true))
            #expect(isWoken == isExpected, "\(after_ns) ns after")
        }
        for (after_ns, isExpected) in [(0, false), (-1, true)] as [(Int64, Bool)] {
            var schedule = asleep(.normal, .init(at_ns: Self.precise_ns, isPrecise: true))
            let isWoken = isWoken(&schedule, by: Self.precise_ns + after_ns, .init(isPrecise: true))
            #expect(isWoken == isExpected, "\(after_ns) ns after, spinning")
        }
    }

    @Test("Where tolerances count, a thread is woken if it sleeps beyond the end of the window, and not for its begin")
    func window() {
        for (precision, end_ns, isExpected) in [
            (.coalesced, 1_000_000, false), (.coalesced, 999_999, true), (.normal, 1_000_000, true),
        ] as [(TimerPrecision, Int64, Bool)] {
            var schedule = asleep(precision, .init(at_ns: 1_000_000))
            let isWoken = isWoken(&schedule, by: end_ns - 500_000, .init(tolerance_ns: 500_000))
            #expect(isWoken == isExpected, "\(precision), \(end_ns)")
        }
    }

    @Test("A thread that is awake is not woken")
    func awake() {
        var schedule = TimerSchedule(precision: .normal)
        let isWokenAtFirst = isWoken(&schedule, by: .min)
        schedule.sleep(until: .init(at_ns: .max))
        schedule.stayAwake()
        let isWokenLater = isWoken(&schedule, by: 5)
        #expect(!isWokenAtFirst && !isWokenLater)
    }
}
