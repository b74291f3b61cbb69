// A request that is retried for at most half a minute, with waits that grow and differ between clients.
import HRTimer
import HRTimerTesting

struct Unavailable: Error {}

// In virtual time, so that nothing really waits.
try await withManualTime(seed: 1) { time in
    let retry = Retry(.exponential(initial: .milliseconds(100), jitter: .full), attempts: 5, within: .seconds(30))
    let start = time.now
    nonisolated(unsafe) var attempts = 0
    let answer = try await retry.run {
        attempts += 1
        print("attempt \(attempts) after \(start.duration(to: time.now))")
        if attempts < 4 { throw Unavailable() }
        return "answered"
    } decide: { error, attempt in
        // The wait that a server demands by Retry-After is kept in any case.
        attempt == 1 ? .retryAfter(.seconds(2)) : error is Unavailable ? .retry : .fail
    }
    print(answer)
}
