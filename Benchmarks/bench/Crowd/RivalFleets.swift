import Dispatch
import Foundation

/// Dispatch's timers on one serial queue.
final class DispatchFleet: RatedCrowd {
    private let queue = DispatchQueue(label: "bench.crowd")
    private let living = DispatchGroup()
    private var sources: [any DispatchSourceTimer] = []

    func arm(_ fleet: Fleet) throws {
        try armPending(fleet.timers.count, within: fleet.armingLimit) { index in
            let timer = fleet.timers[index]
            let member = fleet.member(index)
            let source = DispatchSource.makeTimerSource(queue: queue)
            living.enter()
            source.setEventHandler { member.fire() }
            source.setCancelHandler { [living] in living.leave() }
            source.schedule(
                deadline: DispatchTime(instant_ns: timer.first_ns),
                repeating: timer.interval_ns.map { .nanoseconds(Int($0)) } ?? .never,
                leeway: .nanoseconds(Int(timer.tolerance_ns))
            )
            source.activate()
            sources.append(source)
        }
    }

    /// Waits for the cancel handlers, so that Dispatch's work of ending the timers does not disturb the next measurement.
    func clear() {
        for source in sources { source.cancel() }
        living.wait()
    }
}

/// Foundation's timers, on the run loop of the measuring thread.
final class FoundationFleet: RatedCrowd {
    private var timers: [Timer] = []

    func arm(_ fleet: Fleet) throws {
        let dates = DateGrid()
        try armPending(fleet.timers.count, within: fleet.armingLimit) { index in
            let crowdTimer = fleet.timers[index]
            let member = fleet.member(index)
            let timer = Timer(
                fire: dates.date(at: crowdTimer.first_ns),
                interval: Double(crowdTimer.interval_ns ?? 0) / 1e9,
                repeats: crowdTimer.interval_ns != nil
            ) { _ in member.fire() }
            timer.tolerance = Double(crowdTimer.tolerance_ns) / 1e9
            RunLoop.current.add(timer, forMode: .default)
            timers.append(timer)
        }
    }

    func run(until instant_ns: Int64) { RunLoop.current.run(until: DateGrid().date(at: instant_ns)) }

    /// Invalidates the earliest timer first, because a run loop searches for the timer from there.
    func clear() {
        for timer in timers.sorted(by: { $0.fireDate < $1.fireDate }) { timer.invalidate() }
    }
}
