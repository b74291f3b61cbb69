// SPDX-License-Identifier: Apache-2.0
import CBench

#if AsyncAlgorithms
import AsyncAlgorithms
#endif

extension Subject {
    /// The package's sequence of ticks. It has its own grid, which begins when the first tick is requested.
    static let asyncAlgorithms = Subject(
        "swift.async-timer-sequence",
        "AsyncTimerSequence on SuspendingClock",
        isDefault: false
    ) { recorder in
        #if AsyncAlgorithms
        let reader = Task.detached {
            let interval: Duration = .nanoseconds(recorder.interval_ns)
            var ticks = AsyncTimerSequence(interval: interval, tolerance: .zero, clock: SuspendingClock())
                .makeAsyncIterator()
            // It skips nothing: missed ticks come at once, one after the other.
            var deadline_ns = cbench_now_ns()
            recorder.begin(at: deadline_ns + recorder.interval_ns)
            repeat {
                deadline_ns += recorder.interval_ns
                _ = await ticks.next()
            } while recorder.fire(cbench_now_ns(), at: deadline_ns)
        }
        defer { reader.cancel() }
        try recorder.waitUntilFull()
        #else
        throw BenchError(withoutAsyncAlgorithms)
        #endif
    }

    static let withoutAsyncAlgorithms =
        "built without swift-async-algorithms: swift run -c release --traits AsyncAlgorithms bench"

    #if AsyncAlgorithms
    static let hasAsyncAlgorithms = true
    #else
    static let hasAsyncAlgorithms = false
    #endif
}
