// SPDX-License-Identifier: Apache-2.0
// Sleeps on the adapter: never early, in order, and gone at once when they are cancelled.
import Adapter
import NextConcurrency

func expect(_ holds: Bool, _ sentence: String) {
    if !holds { fatalError("not so: \(sentence)") }
}

let executor = try ClockExecutor()

for length in [20, 5, 0, -4] {
    let continuous = ContinuousClock.now + .milliseconds(length)
    try await sleep(until: continuous, on: executor)
    expect(ContinuousClock.now >= continuous, "a sleep on the continuous clock is never early")
    let suspending = SuspendingClock.now + .milliseconds(length)
    try await sleep(until: suspending, on: executor)
    expect(SuspendingClock.now >= suspending, "a sleep on the suspending clock is never early")
}

let start = ContinuousClock.now
await withTaskGroup(of: Bool.self) { group in
    for number in 0..<1000 {
        group.addTask {
            do {
                try await sleep(until: start + .seconds(3600 + number), on: executor)
                return false
            } catch {
                return true
            }
        }
    }
    group.cancelAll()
    for await wasCancelled in group { expect(wasCancelled, "a cancelled sleep throws") }
}
expect(ContinuousClock.now - start < .seconds(60), "cancelled sleeps end at once")
expect(executor.pendingOperations == 0, "and leave nothing")

// A job that another executor gives to this one for later.
final class Late: TaskExecutor {
    let instant: SuspendingClock.Instant
    init(_ instant: SuspendingClock.Instant) { self.instant = instant }
    func enqueue(_ job: consuming ExecutorJob) { _ = executor.enqueue(job, at: instant, tolerance: nil) }
}
let instant = SuspendingClock.now + .milliseconds(10)
let ran = await Task(executorPreference: Late(instant)) { SuspendingClock.now }.value
expect(ran >= instant, "a job is never early")
print("the adapter sleeps on both clocks, never early; 1,000 cancelled sleeps left nothing")
