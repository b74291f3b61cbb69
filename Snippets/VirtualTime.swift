// A day of sleeping tasks without waiting, in the same order each time, as in a test.
import HRTimer
import HRTimerTesting

let trace = try await withManualTime(seed: 7) { time in
    let start = time.now
    async let rooster: Void = Task.sleep(for: .seconds(6 * 3600), clock: .monotonic)
    let owl = Task {
        try await Task.sleep(for: .seconds(22 * 3600), clock: .monotonic)
        print("the owl wakes after", start.duration(to: .now))
    }
    try await rooster
    print("the rooster wakes after", start.duration(to: .now))
    print("next:", await time.nextSleep() - start)
    await time.advance(by: .seconds(16 * 3600))
    try await owl.value
    return time.trace
}
print("events:", trace.count)
