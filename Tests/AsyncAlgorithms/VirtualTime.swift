// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerTesting
import Synchronization
import XCTest

// Replacements for real clocks in tests on virtual time. Calls in the tests have these names, or get them from virtual.awk.

typealias MonotonicClock = HRTimer.MonotonicClock

/// The body of a test. Safe: it runs on one thread, and the caller waits for its end.
private struct Body: @unchecked Sendable {
    let run: () async throws -> Void
}

/// Runs a whole test in virtual time, with the seed of this run. A test may leave timers and tasks behind, as XCTest allows:
/// several tests cancel a task and do not wait for it.
func inVirtualTime(_ body: @escaping () async throws -> Void) async throws {
    var options = TestTimeOptions(toleratesLeftovers: true, patience: .seconds(20))
    options.seed = ProcessInfo.processInfo.environment["HRTIMER_SEED"].flatMap { UInt64($0) }
    let body = Body(run: body)
    try await withManualTime(options) { _ in try await body.run() }
}

/// Replaces `Task.sleep`, which names no clock that could be replaced.
enum VirtualTask {
    static func sleep(nanoseconds: UInt64) async throws {
        try await Task.sleep(for: .nanoseconds(Int64(nanoseconds)), clock: .monotonic)
    }

    static func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration, clock: .monotonic)
    }
}

/// Replaces XCTest's expectation, which waits on a thread of its own, by the real clock.
final class Expectation: Sendable {
    let description: String
    private let state = Mutex(State())

    private struct State {
        var count = 0
        var waiter: UnsafeContinuation<Void, Never>?
    }

    init(description: String) { self.description = description }

    func fulfill() {
        let (times, waiter) = state.withLock { state in
            state.count += 1
            return (state.count, state.waiter.take())
        }
        waiter?.resume()
        if times > 1 { XCTFail("fulfilled \(times) times: \(description)") }
    }

    /// Waits until the expectation is fulfilled. Only one task may wait at a time.
    func wait() async {
        await withUnsafeContinuation { continuation in
            let isFulfilled = state.withLock { state in
                if state.count == 0 { state.waiter = continuation }
                return state.count > 0
            }
            if isFulfilled { continuation.resume() }
        }
    }
}

extension XCTestCase {
    func expectation(description: String) -> Expectation { Expectation(description: description) }

    func fulfillment(
        of expectations: [Expectation],
        timeout: TimeInterval = 60,
        enforceOrder: Bool = false
    ) async {
        // An expectation that is never fulfilled is a deadlock, or ends with the patience of the virtual time.
        for expectation in expectations { await expectation.wait() }
    }
}
