// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HRTimerCore

extension FiringCore {
    /// Adds a timer whose handler does nothing. Arms it unless its deadline is `Int64.max`.
    mutating func add(deadline_ns: Int64, _ options: TimerOptions = TimerOptions()) -> TimerToken {
        let token = add(.handler { _ in }, TimerRequest())
        setOptions(options, for: token)
        if deadline_ns < .max { place(token, deadline_ns) }
        return token
    }
}

/// When a core's thread is awake, and which deadlines wake a parked thread, to the nanosecond. The tests pass the time in.
@Suite struct FiringParkTests {
    /// An ordinary deadline that is less than this before a precise one is waited for precisely too.
    private static let neighbourhood_ns: Int64 = 100_000
    private static let precise_ns: Int64 = 50_000_000

    /// Returns when a core with an ordinary and a precise timer has its thread awake.
    private func wake(_ precision: TimerPrecision, ordinary_ns: Int64, precise_ns: Int64) -> Park {
        var core = FiringCore(precision: precision)
        _ = core.add(deadline_ns: precise_ns, .init(isPrecise: true))
        _ = core.add(deadline_ns: ordinary_ns)
        return core.exactPark()
    }

    /// Returns a core whose thread is parked until `wake`.
    private func asleep(_ precision: TimerPrecision, _ wake: Park) -> FiringCore {
        var core = FiringCore(precision: precision)
        core.park(until: wake)
        return core
    }

    private func isWoken(
        _ core: inout FiringCore,
        by deadline_ns: Int64,
        _ options: TimerOptions = .init()
    ) -> Bool {
        let token = core.add(deadline_ns: deadline_ns, options)
        return core.mustWake(for: token, deadline_ns)
    }

    @Test(
        "An ordinary deadline is waited for precisely if it is less than 100 µs before a precise one, and only then",
        arguments: [.normal, .coalesced] as [TimerPrecision]
    )
    func neighbour(_ precision: TimerPrecision) {
        for (before_ns, isPrecise) in [
            (-1, true), (0, true), (1, true), (Self.neighbourhood_ns - 1, true), (Self.neighbourhood_ns, false),
            (Self.neighbourhood_ns + 1, false),
        ] {
            let wake = wake(precision, ordinary_ns: Self.precise_ns - before_ns, precise_ns: Self.precise_ns)
            #expect(wake.until_ns == Self.precise_ns - max(0, before_ns))
            #expect(wake.isPrecise == isPrecise, "\(before_ns) ns before")
        }
    }

    @Test("A precise timer that is armed again stays precise; new options count from the next arming on")
    func armedAgain() {
        var core = FiringCore(precision: .normal)
        let timer = core.add(deadline_ns: 1000, .init(isPrecise: true))
        core.place(timer, 2000)
        let again = core.exactPark()
        #expect(again.until_ns == 2000 && again.isPrecise)
        core.setOptions(.init(), for: timer)
        core.place(timer, 3000)
        let ordinary = core.exactPark()
        #expect(ordinary.until_ns == 3000 && !ordinary.isPrecise)
    }

    @Test("Without precise timers only a precise core waits precisely")
    func withoutPrecise() {
        for precision in TimerPrecision.allCases {
            var core = FiringCore(precision: precision)
            _ = core.add(deadline_ns: 5)
            let wake = core.exactPark()
            #expect(wake.until_ns == 5)
            #expect(wake.isPrecise == (precision == .precise))
        }
    }

    @Test("The end of a window is waited for precisely if a precise deadline follows within less than 100 µs")
    func windowBeforePrecise() {
        for (end_ns, isPrecise) in [
            (Self.precise_ns - Self.neighbourhood_ns, false), (Self.precise_ns - Self.neighbourhood_ns + 1, true),
        ] {
            var core = FiringCore(precision: .coalesced)
            _ = core.add(deadline_ns: Self.precise_ns, .init(isPrecise: true))
            _ = core.add(deadline_ns: end_ns - 2_000_000, .init(tolerance_ns: 2_000_000))
            let wake = core.exactPark()
            #expect(wake.until_ns == end_ns)
            #expect(wake.isPrecise == isPrecise)
        }
    }

    @Test(
        "An earlier deadline wakes a parked thread, once; an equal or later one does not",
        arguments: [false, true]
    )
    func ordinary(isPrecise: Bool) {
        let precision = isPrecise ? TimerPrecision.precise : .normal
        var core = asleep(precision, .init(until_ns: 1_000_000, isPrecise: isPrecise))
        for (deadline_ns, isExpected) in [(1_000_001, false), (1_000_000, false), (999_999, true), (5, false)]
            as [(Int64, Bool)]
        {
            let isWoken = isWoken(&core, by: deadline_ns)
            #expect(isWoken == isExpected, "\(deadline_ns)")
        }
        #expect(core.parkedUntil_ns == .min)
    }

    @Test("A precise timer wakes a thread that would otherwise wake imprecisely, less than 100 µs before it")
    func precise() {
        for (after_ns, isExpected) in [
            (Self.neighbourhood_ns + 1, false), (Self.neighbourhood_ns, false), (Self.neighbourhood_ns - 1, true),
            (0, true), (-1, true),
        ] {
            var core = asleep(.normal, .init(until_ns: Self.precise_ns))
            let isWoken = isWoken(&core, by: Self.precise_ns + after_ns, .init(isPrecise: true))
            #expect(isWoken == isExpected, "\(after_ns) ns after")
        }
        for (after_ns, isExpected) in [(0, false), (-1, true)] as [(Int64, Bool)] {
            var core = asleep(.normal, .init(until_ns: Self.precise_ns, isPrecise: true))
            let isWoken = isWoken(&core, by: Self.precise_ns + after_ns, .init(isPrecise: true))
            #expect(isWoken == isExpected, "\(after_ns) ns after, spinning")
        }
    }

    @Test("Where tolerances count, a timer wakes the thread only if that is parked beyond the end of the window")
    func window() {
        for (precision, end_ns, isExpected) in [
            (.coalesced, 1_000_000, false), (.coalesced, 999_999, true), (.normal, 1_000_000, true),
        ] as [(TimerPrecision, Int64, Bool)] {
            var core = asleep(precision, .init(until_ns: 1_000_000))
            let isWoken = isWoken(&core, by: end_ns - 500_000, .init(tolerance_ns: 500_000))
            #expect(isWoken == isExpected, "\(precision), \(end_ns)")
        }
    }

    @Test("A thread that is awake is not woken")
    func awake() {
        var core = FiringCore(precision: .normal)
        let isWokenAtFirst = isWoken(&core, by: .min)
        core.park(until: .init(until_ns: .max))
        core.stayAwake()
        let isWokenLater = isWoken(&core, by: 5)
        #expect(!isWokenAtFirst && !isWokenLater)
    }
}
