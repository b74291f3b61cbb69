// Four ways to limit how long something may take.
import HRTimer

// Cancels the operation at the deadline, and returns or throws the operation's own result or error.
let wasCancelled = await withDeadline(.now + .milliseconds(20), clock: .monotonic) {
    try? await Task.sleep(for: .seconds(60))
    return Task.isCancelled
}
print("cancelled at the deadline: \(wasCancelled)")

// Cancels the operation likewise, and throws TimedOut.
do {
    try await withTimeout(.milliseconds(20)) { try await Task.sleep(for: .seconds(60)) }
} catch let error as TimedOut {
    print("timed out after \(error.timeout)")
}

// For work that ignores cancellation: it goes on, and its late result is passed to the handler.
let (lateResults, late) = AsyncStream.makeStream(of: Int.self)
do {
    let stubborn: Int = try await withUnstructuredTimeout(.milliseconds(20)) {
        let end = MonotonicInstant.now + .milliseconds(100)
        while MonotonicInstant.now < end { await Task.yield() }
        return 42
    } late: { result in
        if let value = try? result.get() { late.yield(value) }
        late.finish()
    }
    print("in time: \(stubborn)")
} catch let error as TimedOut {
    print("returned after \(error.timeout), its work goes on")
}
for await value in lateResults { print("came too late: \(value)") }

// For a connection: each request moves the deadline.
let (closed, close) = AsyncStream.makeStream(of: Void.self)
let idle = IdleTimeout(.milliseconds(20)) { close.finish() }
for _ in 0..<1000 { idle.touch() }
for await _ in closed {}
print("closed after 20 ms without a request")
