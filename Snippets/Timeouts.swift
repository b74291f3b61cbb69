// Three ways to wait no longer than that.
import HRTimer

#if compiler(>=6.2)
// The operation is cancelled at the deadline, and its own result or error comes back.
let wasCancelled = await withDeadline(.now + .milliseconds(20), clock: .monotonic) {
    try? await Task.sleep(for: .seconds(60))
    return Task.isCancelled
}
print("cancelled at the deadline: \(wasCancelled)")

// The same, told by the error.
do {
    try await withTimeout(.milliseconds(20)) { try await Task.sleep(for: .seconds(60)) }
} catch let error as TimedOut {
    print("timed out after \(error.timeout)")
}
#endif

// For a connection, moved on with every request.
let (closed, close) = AsyncStream.makeStream(of: Void.self)
let idle = IdleTimeout(.milliseconds(20)) { close.finish() }
for _ in 0..<1000 { idle.touch() }
for await _ in closed {}
print("closed after 20 ms without a request")
