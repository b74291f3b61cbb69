// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerExecutors
import XCTest

/// Under XCTest the main thread runs Foundation's loop, and the main actor's jobs belong to `TimerLoop.main`.
@MainActor
final class MainActorTests: XCTestCase {
    private var steps = 0

    func testJobsSleepsAndTimersComeOnTheMainActor() async throws {
        for _ in 0..<20 {
            let deadline = ContinuousClock.now + .milliseconds(1)
            try await Task.sleep(until: deadline, clock: .continuous)
            XCTAssertGreaterThanOrEqual(ContinuousClock.now, deadline)
            MainActor.assertIsolated()
            try await MonotonicClock().sleep(for: .milliseconds(1))
            await Self.hop()
            steps += 1
            await withCheckedContinuation { continuation in
                let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in
                    MainActor.assumeIsolated { continuation.resume() }
                }
                TimerLoop.main.add(timer, forMode: .common)
            }
        }
        XCTAssertEqual(steps, 20)
    }

    func testSleepsAreOurs() async throws {
        let sleeper = Task { try await Task.sleep(for: .seconds(3600)) }
        while TimerExecutors.pendingSleeps == 0 { await Task.yield() }
        sleeper.cancel()
    }

    /// Hops from off the main actor to it, and off it again.
    private nonisolated static func hop() async { await MainActor.run {} }
}
