// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import TestSupport
import Testing

/// The spin window of precise waits, with invented wake latencies and times.
@Suite struct HRTSpinWindowTests {
    private let interval_ns: Int64 = 1_000_000

    /// A spin window with a budget, its own or one that it shares with another window.
    private final class Window {
        let budget: UnsafeMutablePointer<hrt_spin_budget>
        let c = UnsafeMutablePointer<hrt_spin_window>.allocate(capacity: 1)
        private let lender: Window?

        init(budget share: Double, coverage: Double = 0.9, now_ns: Int64 = 0) {
            lender = nil
            budget = .allocate(capacity: 1)
            hrt_spin_budget_init(budget, share, now_ns)
            hrt_spin_window_init(c, coverage, budget)
        }

        init(sharing other: Window, coverage: Double) {
            lender = other
            budget = other.budget
            hrt_spin_window_init(c, coverage, budget)
        }

        deinit {
            c.deallocate()
            if lender == nil { budget.deallocate() }
        }

        /// Returns the length of the window for a sleep that begins at `now_ns`.
        func ns(_ sleep_ns: Int64, _ now_ns: Int64) -> Int64 { hrt_spin_window_ns(c, sleep_ns, now_ns) }

        func recordWake(_ sleep_ns: Int64, _ latency_ns: Int64) { hrt_spin_window_record_wake(c, sleep_ns, latency_ns) }

        /// Simulates a wake at 0 after which the thread takes that long to begin its spin.
        func recordReady(after_ns: Int64) {
            c.pointee.woken_ns = 0
            hrt_spin_window_record_ready(c, after_ns)
        }

        func spend(_ spun_ns: Int64) { hrt_spin_budget_spend(budget, spun_ns) }

        /// Simulates one fire. Returns the window that was used, and the time spun.
        func fire(_ sleep_ns: Int64, _ now_ns: Int64, latency_ns: Int64) -> (used_ns: Int64, spun_ns: Int64) {
            let used_ns = ns(sleep_ns, now_ns)
            recordWake(sleep_ns, latency_ns)
            let spun_ns = max(0, used_ns - latency_ns)
            spend(spun_ns)
            return (used_ns, spun_ns)
        }
    }

    /// Wakes a timer once with each latency. Returns the spin window that was used for each.
    private func windows(_ window: Window, _ latencies: [Int64], from start_ns: Int64) -> [Int64] {
        latencies.enumerated().map { index, latency_ns in
            window.fire(interval_ns, start_ns + Int64(index) * interval_ns, latency_ns: latency_ns).used_ns
        }
    }

    private func make(budget: Double) -> Window { Window(budget: budget, coverage: 0.99) }

    /// Returns latencies like a quiet machine's: mostly 5 ... 20 us, some up to 60.
    private func quiet(_ count: Int, _ random: inout SeededRandom) -> [Int64] {
        (0..<count).map { _ in
            Int.random(in: 0..<20, using: &random) == 0
                ? Int64.random(in: 20_000..<60_000, using: &random) : Int64.random(in: 5000..<20_000, using: &random)
        }
    }

    private func quantile(_ latencies: [Int64]) -> Int64 { latencies.sorted()[latencies.count * 99 / 100] }

    @Test("The window converges near the quantile of the latencies")
    func learns() {
        var random = SeededRandom(seed: 2026)
        let window = make(budget: 1)
        let latencies = quiet(1000, &random)
        let used = windows(window, latencies, from: 0)
        let covered = zip(used, latencies).dropFirst(100).count { $0 >= $1 }
        #expect(covered > 900 * 95 / 100)
        #expect(used.last! < 2 * quantile(latencies))
    }

    @Test(
        "A stall of 3 ms hardly moves the window; after a series of stalls it recovers within 100 fires",
        arguments: [1, 10, 500]
    )
    func stalls(_ count: Int) {
        var random = SeededRandom(seed: 2026)
        let window = make(budget: 1)
        let before = quiet(300, &random)
        _ = windows(window, before, from: 0)
        _ = windows(window, [Int64](repeating: 3_000_000, count: count), from: 300 * interval_ns)
        let after = quiet(100, &random)
        let used = windows(window, after, from: 1000 * interval_ns)
        #expect(used.suffix(20).sorted()[10] < 2 * quantile(before))
        if count == 1 { #expect(used.max()! < 3 * quantile(before)) }
    }

    @Test("The window rises within 20 fires when the machine gets busy")
    func rises() {
        var random = SeededRandom(seed: 2026)
        let window = make(budget: 1)
        _ = windows(window, quiet(300, &random), from: 0)
        let busy = (0..<20).map { _ in Int64.random(in: 150_000..<200_000, using: &random) }
        let used = windows(window, busy, from: 300 * interval_ns)
        #expect(used.last! > 150_000)
    }

    @Test(
        "In every second the spinning exceeds the budget by at most 10 %, whatever the latencies",
        arguments: [0.001, 0.01, 0.02, 0.5]
    )
    func budget(_ budget: Double) {
        var random = SeededRandom(seed: 2026)
        let window = Window(budget: budget, coverage: 0.999)
        var spun: [Int64] = []
        for index in 0..<20_000 {
            let now_ns = Int64(index) * interval_ns
            // Latencies that make every fire want a large spin window, and use little of it.
            let latency_ns = Int64.random(in: 0..<900_000, using: &random)
            spun.append(window.fire(interval_ns, now_ns, latency_ns: latency_ns).spun_ns)
        }
        var lastSecond = spun.prefix(1000).reduce(0, +)
        var worst = lastSecond
        for index in 1000..<spun.count {
            lastSecond += spun[index] - spun[index - 1000]
            worst = max(worst, lastSecond)
        }
        #expect(Double(worst) <= 1.1 * budget * 1e9 + 1)
        #expect(Double(worst) > 0.5 * min(budget, 0.2) * 1e9)
    }

    @Test("A scarce budget shortens the windows, but not below the length that costs no spinning")
    func scarceBudget() {
        var random = SeededRandom(seed: 2026)
        let window = make(budget: 0.005)
        let latencies = (0..<3000).map { _ in Int64.random(in: 40_000..<75_000, using: &random) }
        let used = windows(window, latencies, from: 0)
        let spun = zip(used, latencies).dropFirst(1000).map { max(0, $0 - $1) }
        #expect(used.dropFirst(1000).min()! > 36_000)
        #expect(Double(spun.reduce(0, +)) > 0.7 * 0.005 * 2e9)
    }

    /// A distribution of latencies, given by quantiles in us, and linear between them.
    struct Machine: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let quantiles_us: [(part: Double, latency_us: Double)]

        func latency_ns(_ random: inout SeededRandom) -> Int64 {
            let part = Double.random(in: 0..<1, using: &random)
            let end = quantiles_us.firstIndex { part < $0.part }!
            let (low, high) = (quantiles_us[end - 1], quantiles_us[end])
            let share = (part - low.part) / (high.part - low.part)
            return Int64(1000 * (low.latency_us + share * (high.latency_us - low.latency_us)))
        }

        /// The wake latencies of a virtual machine after 16 ms of sleep.
        static let steady = Machine(
            testDescription: "steady",
            quantiles_us: [(0, 42), (0.5, 55), (0.9, 66), (0.95, 70), (0.99, 700), (1, 1500)]
        )
        /// Those of a virtual machine that shares its host with others.
        static let shared = Machine(
            testDescription: "shared",
            quantiles_us: [(0, 25), (0.5, 50), (0.9, 90), (0.99, 700), (1, 2000)]
        )
    }

    /// The lateness and the spinning of fires, without the first ones.
    private struct Outcome {
        var lateness_ns: [Int64] = []
        var spun_ns: Double = 0

        func lateness_ns(_ part: Double) -> Int64 { lateness_ns.sorted()[Int(part * Double(lateness_ns.count))] }
    }

    private func fire(_ machine: Machine, every interval_ns: Int64, skipping skipped: Int, _ count: Int = 20_000)
        -> Outcome
    {
        var random = SeededRandom(seed: 2026)
        let window = make(budget: 0.0125)
        var outcome = Outcome()
        for index in 0..<skipped + count {
            let latency_ns = machine.latency_ns(&random)
            let (used_ns, _) = window.fire(interval_ns, Int64(index) * interval_ns, latency_ns: latency_ns)
            guard index >= skipped else { continue }
            outcome.lateness_ns.append(max(0, latency_ns - used_ns))
            outcome.spun_ns += Double(max(0, used_ns - latency_ns)) / Double(count)
        }
        return outcome
    }

    @Test(
        "At frame rates 9 of 10 fires are exact by default, and 19 of 20 within 2 µs, for less than 23 µs of spinning each",
        arguments: [60, 120, 240]
    )
    func frames(rate: Int64) {
        let outcome = fire(.steady, every: 1_000_000_000 / rate, skipping: 50)
        #expect(outcome.lateness_ns(0.9) <= 1000)
        #expect(outcome.lateness_ns(0.95) <= 2000)
        // Covering the wakes that are ten times as late is not worth the spinning.
        #expect(outcome.spun_ns < 23_000)
    }

    @Test("With widely spread latencies most fires are exact, within the budget", arguments: [60, 120, 240])
    func framesOnASharedMachine(rate: Int64) {
        let interval_ns = 1_000_000_000 / rate
        let outcome = fire(.shared, every: interval_ns, skipping: 50)
        #expect(outcome.lateness_ns(0.85) <= 1000)
        #expect(outcome.spun_ns < 0.0125 * Double(interval_ns))
    }

    @Test("At 4 kHz the spinning uses up the budget, and not more", arguments: [Machine.steady, .shared])
    func fast(machine: Machine) {
        let interval_ns: Int64 = 250_000
        let outcome = fire(machine, every: interval_ns, skipping: 1000)
        #expect(outcome.spun_ns <= 0.0125 * Double(interval_ns) * 1.02)
        #expect(outcome.spun_ns > 0.0125 * Double(interval_ns) * 0.9)
    }

    @Test(
        "Correlated latencies are predicted: windows are long only while the machine is slow"
    )
    func follows() {
        var random = SeededRandom(seed: 2026)
        let window = Window(budget: 0.0125, coverage: 0.99)
        var (exact, spun_ns, fires) = (0, Int64(0), 0)
        var base_ns: Int64 = 20_000
        for index in 0..<20_000 {
            if index % 50 == 0 { base_ns = .random(in: 20_000...80_000, using: &random) }
            let latency_ns = base_ns + .random(in: 0..<4000, using: &random)
            let (used_ns, spun) = window.fire(interval_ns, Int64(index) * interval_ns, latency_ns: latency_ns)
            guard index >= 100 else { continue }
            (exact, spun_ns, fires) = (exact + (used_ns >= latency_ns ? 1 : 0), spun_ns + spun, fires + 1)
        }
        // A window of fixed length that covers as many fires is 70 us long, and spins for 22 us of that.
        #expect(Double(exact) / Double(fires) > 0.8)
        #expect(spun_ns / Int64(fires) < 12_600)
    }

    @Test("Ten windows that share a budget keep to it together, and spin about equally")
    func shared() {
        var random = SeededRandom(seed: 2026)
        let first = Window(budget: 0.0125, coverage: 0.99)
        let all = [first] + (1..<10).map { _ in Window(sharing: first, coverage: 0.99) }
        var spun_ns = [Int64](repeating: 0, count: 10)
        for index in 0..<3000 {
            for (place, window) in all.enumerated() {
                let now_ns = Int64(index) * interval_ns + Int64(place) * 100_000
                let latency_ns = Int64.random(in: 40_000..<75_000, using: &random)
                let fire = window.fire(interval_ns, now_ns, latency_ns: latency_ns)
                if index >= 1000 { spun_ns[place] += fire.spun_ns }
            }
        }
        let total_ns = spun_ns.reduce(0, +)
        #expect(Double(total_ns) <= 1.02 * 0.0125 * 2e9)
        #expect(Double(total_ns) > 0.8 * 0.0125 * 2e9)
        #expect(spun_ns.min()! * 2 > spun_ns.max()!)
    }

    @Test(
        "The window stops growing at the coverage asked for, although covering more wakes would be worth its spin",
        arguments: [0.1, 0.25, 0.5, 0.6, 0.75]
    )
    func stopsAtCoverage(_ coverage: Double) {
        var random = SeededRandom(seed: 2026)
        let window = Window(budget: 1, coverage: coverage)
        // All within 10 us: a window that covers every wake spins for some 6 us, and a wake more that it covers is worth 40.
        let latencies = (0..<6000).map { _ in Int64.random(in: 20_000..<30_000, using: &random) }
        let used = windows(window, latencies, from: 0)
        let covered = zip(used, latencies).dropFirst(1000).count { $0 >= $1 }
        // A window ends with a bucket, and a bucket has up to a tenth of these wakes.
        #expect((coverage...coverage + 0.1).contains(Double(covered) / 5000))
        #expect(window.c.pointee.limit == HRT_SPIN_LIMIT_COVERAGE)
    }

    @Test("A window reports what keeps it from being longer")
    func limits() {
        let scarce = Window(budget: 0.0001, coverage: 0.99)
        let ample = Window(budget: 1, coverage: 0.99)
        for window in [scarce, ample] {
            for index in 0..<200 { window.recordWake(interval_ns, index.isMultiple(of: 2) ? 20_000 : 60_000) }
        }
        _ = scarce.ns(interval_ns, 0)
        #expect(scarce.c.pointee.limit == HRT_SPIN_LIMIT_BUDGET)
        _ = ample.ns(interval_ns, 0)
        #expect(ample.c.pointee.limit == HRT_SPIN_LIMIT_COVERAGE)
        // After half a second of sleep, 250 us is the most that a fire may expect to spin.
        for index in 0..<400 { ample.recordWake(500_000_000, index.isMultiple(of: 2) ? 400_000 : 3_000_000) }
        let window_ns = ample.ns(500_000_000, 0)
        #expect(ample.c.pointee.limit == HRT_SPIN_LIMIT_LONGEST || window_ns < 3_000_000)
    }

    @Test("The outcome counts the wakes that had a window, and those that the window covered")
    func counts() {
        let window = Window(budget: 1)
        for _ in 0..<20 { window.recordWake(interval_ns, 50_000) }
        #expect(hrt_spin_window_outcome(window.c).wakes == 0)
        for latency_ns: Int64 in [10_000, 500_000, 40_000] {
            _ = window.ns(interval_ns, 0)
            window.recordWake(interval_ns, latency_ns)
        }
        let outcome = hrt_spin_window_outcome(window.c)
        #expect(outcome.wakes == 3)
        #expect(outcome.covered_wakes == 2)
    }

    @Test("The time that the thread needs from its wake to the spin lengthens the window by as much")
    func ready() {
        let window = Window(budget: 1)
        for _ in 0..<100 { window.recordWake(interval_ns, 50_000) }
        let before_ns = window.ns(interval_ns, 0)
        for _ in 0..<100 { window.recordReady(after_ns: 6000) }
        #expect(abs(window.ns(interval_ns, 0) - before_ns - 6000) <= 1)
        // Without a wake nothing is recorded.
        for _ in 0..<100 { hrt_spin_window_record_ready(window.c, 1_000_000) }
        #expect(abs(window.ns(interval_ns, 0) - before_ns - 6000) <= 1)
    }

    @Test("A stall before the spin counts as 20 µs or a few times what is known, and a long way to be ready is learned")
    func readyAfterStall() {
        let window = Window(budget: 1)
        for _ in 0..<100 { window.recordWake(interval_ns, 50_000) }
        let before_ns = window.ns(interval_ns, 0)
        window.recordReady(after_ns: .max)
        // A quarter of it.
        #expect(abs(window.ns(interval_ns, 0) - before_ns - 5000) <= 1)
        for _ in 0..<100 { window.recordReady(after_ns: 60_000) }
        #expect(abs(window.ns(interval_ns, 0) - before_ns - 60_000) <= 1)
        for _ in 0..<100 { window.recordReady(after_ns: .max) }
        #expect(window.ns(interval_ns, 0) - before_ns <= 250_001)
    }

    @Test("A long sleep is split by an early wake-up if that saves more spinning than a wake-up costs")
    func twoWakes() {
        var random = SeededRandom(seed: 2026)
        let frame_ns: Int64 = 16_666_667
        let deep = Window(budget: 0.0125, coverage: 0.99)
        let shallow = Window(budget: 0.0125, coverage: 0.99)
        for _ in 0..<300 {
            // After a long sleep, `deep` wakes late and by widely varying times, `shallow` as after a short one.
            deep.recordWake(frame_ns, .random(in: 60_000..<160_000, using: &random))
            deep.recordWake(200_000, .random(in: 20_000..<40_000, using: &random))
            shallow.recordWake(frame_ns, .random(in: 20_000..<30_000, using: &random))
            shallow.recordWake(200_000, .random(in: 20_000..<30_000, using: &random))
        }
        #expect(deep.ns(frame_ns, 0) > 0)
        let first_ns = hrt_spin_window_first_ns(deep.c, frame_ns)
        #expect(first_ns > 200_000 && first_ns <= 750_000)
        #expect(shallow.ns(frame_ns, 0) > 0)
        #expect(hrt_spin_window_first_ns(shallow.c, frame_ns) == 0)
        // A short sleep is not split either.
        #expect(deep.ns(interval_ns, 0) > 0)
        #expect(hrt_spin_window_first_ns(deep.c, interval_ns) == 0)
    }

    @Test("Five wakes are enough to learn a latency", arguments: [5000, 30_000, 60_000, 120_000, 250_000])
    func learns(latency_ns: Int64) {
        let frame_ns: Int64 = 16_666_667
        let window = make(budget: 0.0125)
        for index in 0..<5 {
            _ = window.ns(frame_ns, Int64(index) * frame_ns)
            window.recordWake(frame_ns, latency_ns)
        }
        let used_ns = window.ns(frame_ns, 5 * frame_ns)
        #expect(used_ns >= latency_ns)
        #expect(Double(used_ns - latency_ns) < 15_000 + 0.125 * Double(latency_ns))
    }

    @Test("A class of sleeps without wakes of its own starts with the prediction of the nearest class")
    func neighbours() {
        for (known_ns, new_ns) in [(4_000_000, 1_000_000), (1_000_000, 16_000_000), (100_000, 1_000_000_000)]
            as [(Int64, Int64)]
        {
            let window = make(budget: 1)
            for _ in 0..<100 { window.recordWake(known_ns, 300_000) }
            let used_ns = window.ns(new_ns, 1)
            #expect(used_ns >= 300_000 && used_ns < 350_000)
            // From its first wake on, the class's own latencies count.
            for _ in 0..<8 { window.recordWake(new_ns, 8000) }
            #expect(window.ns(new_ns, 2) < 50_000)
        }
    }

    @Test("Long and short sleeps have windows of their own")
    func classes() {
        let window = make(budget: 1)
        for index in 0..<200 {
            let now_ns = Int64(index) * 2_000_000_000
            _ = window.ns(interval_ns, now_ns)
            window.recordWake(interval_ns, 5000)
            window.recordWake(1_000_000_000, 80_000)
        }
        #expect(window.ns(interval_ns, 400_000_000_000) < 10_000)
        #expect(window.ns(1_000_000_000, 400_000_000_000) >= 80_000)
    }

    @Test("Any value is safe: extreme bounds, NaN, time that goes back, negative and huge latencies")
    func anyValue() {
        for value in [Double.nan, -1, 0, 1, 2, .infinity, -.infinity] {
            let window = Window(budget: value, coverage: value, now_ns: .max)
            for number in [Int64.min, -1, 0, 1, .max] {
                window.recordWake(number, number)
                #expect(window.ns(number, 0) >= 0)
                window.spend(number)
            }
        }
    }

    @Test("After a million wakes the window still follows the latencies")
    func longRun() {
        let window = make(budget: 1)
        for index in 0..<1_000_000 { window.recordWake(interval_ns, Int64(10_000 + index % 10)) }
        let window_ns = window.ns(interval_ns, 1)
        #expect(window_ns >= 10_000 && window_ns < 12_000)
    }
}
