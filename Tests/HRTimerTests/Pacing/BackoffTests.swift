// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

@Suite struct BackoffTests {
    private func waits(_ backoff: Backoff, _ count: Int = 6) -> [Duration] { Array(backoff.waits().prefix(count)) }

    private func ms(_ milliseconds: Int...) -> [Duration] { milliseconds.map { .milliseconds($0) } }

    // The first three cases are the ones that swift-async-algorithms publishes for its own backoffs.

    @Test("A constant backoff waits equally long each time")
    func constant() {
        #expect(waits(.constant(.milliseconds(5)), 3) == ms(5, 5, 5))
    }

    @Test("An exponential backoff grows by its factor, up to its maximum, and stays there")
    func exponential() {
        #expect(waits(.exponential(initial: .milliseconds(1)), 4) == ms(1, 2, 4, 8))
        #expect(waits(.exponential(initial: .milliseconds(1), maximum: .milliseconds(5)), 4) == ms(1, 2, 4, 5))
        #expect(waits(.exponential(initial: .milliseconds(1), factor: 10), 4) == ms(1, 10, 100, 1000))
        #expect(waits(.exponential(initial: .milliseconds(4), factor: 1.5), 3) == ms(4, 6, 9))
        let long = Array(Backoff.exponential(initial: .seconds(1)).waits().prefix(2000))
        #expect(long.last == .seconds(60))
    }

    @Test("With bad values no wait is negative, none is longer than the maximum, and none shrinks")
    func badValues() {
        #expect(waits(.exponential(initial: .milliseconds(-5)), 3) == ms(0, 0, 0))
        #expect(waits(.exponential(initial: Double.nan, maximum: .nan), 2) == ms(0, 0))
        #expect(waits(.exponential(initial: .milliseconds(4), factor: .nan), 2) == ms(4, 4))
        #expect(waits(.exponential(initial: .milliseconds(4), factor: 0.5), 2) == ms(4, 4))
        #expect(
            waits(.exponential(initial: .milliseconds(1), factor: .infinity), 2) == [.milliseconds(1), .seconds(60)]
        )
        #expect(waits(.exponential(initial: .seconds(100), maximum: .seconds(3)), 2) == [.seconds(3), .seconds(3)])
        #expect(waits(.constant(Double.infinity), 2).allSatisfy { $0 > .seconds(1_000_000_000) })
    }

    @Test("Full jitter is uniform from zero to the wait, equal jitter in its upper half")
    func jitter() {
        for (jitter, least) in [(Backoff.Randomness.full, 0), (.equal, 50)] {
            let backoff = Backoff.constant(.milliseconds(100), jitter: jitter, seed: 5)
            let waits = Array(backoff.waits().prefix(10_000))
            #expect(waits.allSatisfy { $0 >= .milliseconds(least) && $0 <= .milliseconds(100) })
            var counts = [Int](repeating: 0, count: 10)
            for wait in waits {
                let share = (wait - .milliseconds(least)) / .milliseconds(100 - least)
                counts[min(9, Int(share * 10))] += 1
            }
            #expect(counts.allSatisfy { abs($0 - 1000) < 150 })
        }
        let grown = Array(Backoff.exponential(initial: .milliseconds(1), jitter: .full, seed: 9).waits().prefix(8))
        for (attempt, wait) in grown.enumerated() { #expect(wait <= .milliseconds(1 << attempt)) }
    }

    @Test("Decorrelated jitter is between the initial wait and three times the previous wait, at most the maximum")
    func decorrelated() {
        let backoff = Backoff.exponential(
            initial: .milliseconds(10),
            maximum: .seconds(2),
            jitter: .decorrelated,
            seed: 1
        )
        var former = Duration.milliseconds(10)
        var longest = Duration.zero
        for wait in backoff.waits().prefix(10_000) {
            #expect(wait >= .milliseconds(10) && wait <= min(former * 3, .seconds(2)))
            former = wait
            longest = max(longest, wait)
        }
        #expect(longest > .seconds(1))
    }

    @Test("The same seed gives the same waits; without a seed each retry differs, by the seed of a virtual time")
    func seeds() async throws {
        let seeded = Backoff.exponential(initial: .seconds(1), jitter: .full, seed: 3)
        #expect(waits(seeded) == waits(seeded))
        var other = seeded
        other.seed = 4
        #expect(waits(seeded) != waits(other))
        let unseeded = Backoff.exponential(initial: .seconds(1), jitter: .full)
        #expect(waits(unseeded) != waits(unseeded))
        func traced(_ seed: UInt64) async throws -> [Duration] {
            let seen = Recorder<[Duration]>()
            try await withManualTime(seed: seed) { _ in seen.append(Array(unseeded.waits().prefix(6))) }
            return seen.all[0]
        }
        let (one, same, another) = (try await traced(1), try await traced(1), try await traced(2))
        #expect(one == same && one != another)
    }
}
