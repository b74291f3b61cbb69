// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import Testing

/// The examples of virtual time in the README and in the documentation.
@Suite struct ExampleTests {
    /// Searches when nobody has typed for 300 ms.
    actor Search {
        private var pending: Task<Void, any Error>?
        private(set) var requests = 0

        func type(_ text: String) {
            pending?.cancel()
            pending = Task {
                try await Task.sleep(for: .milliseconds(300), clock: .monotonic)
                self.request()
            }
        }

        private func request() { requests += 1 }
    }

    @Test("A debounced search makes its request 300 ms after the last letter")
    func debounced() async throws {
        try await withManualTime { time in
            let search = Search()  // sleeps 300 ms on MonotonicClock(), in a Task {}
            await search.type("s")
            await time.advance(by: .milliseconds(299))
            #expect(await search.requests == 0)
            await time.advance(by: .milliseconds(1))
            #expect(await search.requests == 1)
        }
    }

    @Test("A body sleeps for a minute of virtual time beside a task that sleeps for an hour")
    func sleeps() async throws {
        try await withManualTime { time in
            let start = time.now
            async let slow: Void = Task.sleep(for: .seconds(3600), clock: .monotonic)
            try await Task.sleep(for: .seconds(60), clock: .monotonic)
            #expect(start.duration(to: .now) == .seconds(60))
            try await slow
        }
    }

    @Test("A debounced search makes one request in any order of the tasks that are ready together", arguments: 0..<10)
    func anyOrder(seed: UInt64) async throws {
        try await withManualTime(seed: seed) { time in
            let search = Search()
            await withTaskGroup(of: Void.self) { group in
                for letter in ["a", "b", "c"] { group.addTask { await search.type(letter) } }
            }
            await time.advance(by: .seconds(1))
            #expect(await search.requests == 1)
        }
    }
}
