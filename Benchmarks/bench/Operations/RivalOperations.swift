import CBench
import Dispatch
import Foundation

extension PublicOperations {
    @Sendable
    static func reArmDispatch(_ timers: Int) -> OperationRival {
        rival("dispatch.source") { deadlines in
            let queue = DispatchQueue(label: "bench.ops")
            var sources: [any DispatchSourceTimer] = []
            defer { for source in sources { source.cancel() } }
            try armPending(timers) { _ in sources.append(dispatchSource(deadlines.any(), on: queue)) }
            let owned = Owned(sources.compactMap { $0 as? DispatchSource })
            return OperationLoop().measure(drain: { queue.sync {} }) { index in
                let deadline = DispatchTime(instant_ns: deadlines.later(index))
                owned.with(deadlines.timer(below: timers)) { $0.schedule(deadline: deadline) }
            }
        }
    }

    @Sendable
    static func churnDispatch(_ timers: Int) -> OperationRival {
        rival("dispatch.source") { deadlines in
            let queue = DispatchQueue(label: "bench.ops")
            var sources: [any DispatchSourceTimer] = []
            defer { for source in sources { source.cancel() } }
            try armPending(timers) { _ in sources.append(dispatchSource(deadlines.any(), on: queue)) }
            return OperationLoop().measure(drain: { queue.sync {} }) { _ in
                dispatchSource(deadlines.any(), on: queue).cancel()
            }
        }
    }

    @Sendable
    static func reArmFoundation(_ timers: Int) -> OperationRival {
        rival("foundation.timer") { deadlines in
            var all: [Timer] = []
            defer { invalidate(all) }
            try armPending(timers) { _ in all.append(foundationTimer(deadlines.any())) }
            let owned = Owned(all)
            return OperationLoop().measure { index in
                let date = date(deadlines.later(index))
                owned.with(deadlines.timer(below: timers)) { $0.fireDate = date }
            }
        }
    }

    @Sendable
    static func churnFoundation(_ timers: Int) -> OperationRival {
        rival("foundation.timer") { deadlines in
            var all: [Timer] = []
            defer { invalidate(all) }
            try armPending(timers) { _ in all.append(foundationTimer(deadlines.any())) }
            return OperationLoop().measure { _ in foundationTimer(deadlines.any()).invalidate() }
        }
    }

    static func dispatchSource(_ deadline_ns: Int64, on queue: DispatchQueue) -> any DispatchSourceTimer {
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler(handler: makeHandler())
        source.schedule(deadline: .init(instant_ns: deadline_ns))
        source.activate()
        return source
    }

    /// Invalidates the earliest timer first: a run loop searches for the timer from there, which takes minutes in any other
    /// order.
    private static func invalidate(_ timers: [Timer]) {
        for timer in timers.sorted(by: { $0.fireDate < $1.fireDate }) { timer.invalidate() }
    }

    private static func foundationTimer(_ deadline_ns: Int64) -> Timer {
        let payload = Payload()
        let timer = Timer(fire: date(deadline_ns), interval: 0, repeats: false) { _ in
            withExtendedLifetime(payload) {}
        }
        RunLoop.current.add(timer, forMode: .default)
        return timer
    }

    /// Returns a date hours away; which clock it counts on does not matter here.
    private static func date(_ instant_ns: Int64) -> Date {
        Date(timeIntervalSinceNow: Double(instant_ns - cbench_now_ns()) / 1e9)
    }
}
