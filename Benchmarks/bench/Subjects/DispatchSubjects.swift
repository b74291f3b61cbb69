// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch

extension Subject {
    /// Dispatch's timers, each on a serial queue of its own.
    static let dispatch: [Subject] = [
        Subject("dispatch.source", "DispatchSource timer, repeating, leeway 0") {
            try measureSource($0, flags: [])
        },
        Subject("dispatch.source-strict", "the same with the flag .strict") {
            try measureSource($0, flags: .strict)
        },
        Subject(
            "dispatch.source-strict-spin",
            "a strict source that is due 80 us before each deadline; its handler reads the clock for the rest",
            isDefault: false
        ) {
            try measureSource($0, flags: .strict, margin_ns: 80_000)
        },
        Subject("dispatch.source-global", "the same as dispatch.source on a global, concurrent queue", isDefault: false)
        {
            try measureSource($0, flags: [], DispatchQueue.global(qos: .userInteractive))
        },
        Subject("dispatch.async-after", "asyncAfter for each deadline; its leeway is 10 %, at least 1 ms") {
            let queue = DispatchQueue(label: "bench.async-after", qos: .userInteractive)
            _ = $0.begin()
            fireAfter($0, on: queue)
            try $0.waitUntilFull()
        },
        Subject(
            "dispatch.semaphore-wait",
            "DispatchSemaphore.wait(timeout:) for each deadline, which waits by the wall clock",
            isDefault: false
        ) {
            let neverSignalled = DispatchSemaphore(value: 0)
            $0.fill(bySleeping: { _ = neverSignalled.wait(timeout: DispatchTime(instant_ns: $0)) })
        },
    ]

    private static func measureSource(
        _ recorder: BlockRecorder,
        flags: DispatchSource.TimerFlags,
        _ queue: DispatchQueue = DispatchQueue(label: "bench.source", qos: .userInteractive),
        margin_ns: Int64 = 0
    ) throws {
        let source = DispatchSource.makeTimerSource(flags: flags, queue: queue)
        let interval: DispatchTimeInterval = .nanoseconds(Int(recorder.interval_ns))
        // Before the handler is set: Thread Sanitizer then knows that the handler sees what was written.
        let first = DispatchTime(instant_ns: recorder.begin() - margin_ns)
        source.setEventHandler {
            var woke_ns = cbench_now_ns()
            if margin_ns > 0 {
                while woke_ns < recorder.nextDeadline_ns { woke_ns = cbench_now_ns() }
            }
            // The data of a timer source is the number of deadlines that have passed since the last call.
            recorder.fire(woke_ns, for: Int64(source.data))
        }
        let cancelled = DispatchSemaphore(value: 0)
        source.setCancelHandler { cancelled.signal() }
        source.schedule(deadline: first, repeating: interval, leeway: .nanoseconds(0))
        source.activate()
        defer {
            // Waits for the cancel handler: no call may occur during the next block.
            source.cancel()
            cancelled.wait()
        }
        try recorder.waitUntilFull()
    }

    private static func fireAfter(_ recorder: BlockRecorder, on queue: DispatchQueue) {
        queue.asyncAfter(deadline: .init(instant_ns: recorder.nextDeadline_ns)) {
            let woke_ns = cbench_now_ns()
            if recorder.fire(woke_ns) { fireAfter(recorder, on: queue) }
        }
    }
}

extension DispatchTime {
    /// Converts an instant of `CLOCK_MONOTONIC`, which is the clock of Dispatch's uptime on Linux.
    init(instant_ns: Int64) {
        self.init(uptimeNanoseconds: UInt64(instant_ns))
    }
}
