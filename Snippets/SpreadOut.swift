// A thousand timers of one period that do not all fire at once. In virtual time, so that nothing really waits.
import HRTimer
import HRTimerTesting

/// Returns how many timers are called in the busiest tenth of a second.
func busiest(jitter: Jitter? = nil, phase: TimerPhase = .given) throws -> Int {
    let time = ManualTime()
    let engine = try TimerEngine(.init(time: time.base))
    let calls = CallCounts()
    for _ in 0..<1000 {
        engine.schedule(after: 60, every: .seconds(60), jitter: jitter, phase: phase) { fire in
            calls.count(fire.deadline.nanoseconds / 100_000_000)
        }
    }
    time.advance(by: .seconds(120) - .nanoseconds(1))
    return calls.most
}

/// Unchecked, because on virtual time handlers run on the thread that advances the clock.
final class CallCounts: @unchecked Sendable {
    private var counts: [Int64: Int] = [:]
    func count(_ tenth: Int64) { counts[tenth, default: 0] += 1 }
    var most: Int { counts.values.max() ?? 0 }
}

print("all at once:         \(try busiest())")
print("with a random phase: \(try busiest(phase: .random))")
print("with jitter:         \(try busiest(jitter: .full))")
