// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// The host and the request of the timer for a deadline, so that no task need sleep.
struct KeptTime {
    let host: any TimerHost
    /// Nil for a deadline that never comes.
    let request: TimerRequest?

    /// Replaces a host whose thread is the calling one: that thread fires nothing while an operation computes or blocks
    /// there.
    init(_ host: any TimerHost, _ plan: Sleeper.Plan) {
        self.host = host.isOnItsThread ? Self.engine(for: host.time.clock) : host
        request = plan.deadline_ns == .max ? nil : plan.request(from: host.time.now_ns)
    }

    /// Returns a host whose thread fires only timers for deadlines.
    private static func engine(for clock: TimerClock) -> any TimerHost {
        switch clock {
        case .monotonic: monotonic.engine.core
        case .bootTime: bootTime.engine.core
        case .wall: wall.engine.core
        }
    }
}

private let name = "hrtimer-deadline"
private let monotonic = SharedEngine { try TimerEngine(.init(name: name, time: $0)) }
private let bootTime = SharedEngine { try BootTimeTimerEngine(.init(name: name, time: $0)) }
private let wall = SharedEngine { try WallTimerEngine(.init(name: name, time: $0)) }

/// A clock whose sleeps a host of this library fires, or could fire.
protocol EngineTimedClock {
    var host: any TimerHost { get }
    /// Returns nil if the instant is not of that clock.
    func plan(_ deadline: Any, _ tolerance: Any?) -> Sleeper.Plan?
}

extension EngineClock: EngineTimedClock {
    func plan(_ deadline: Any, _ tolerance: Any?) -> Sleeper.Plan? {
        (deadline as? Instant).map { plan($0, tolerance as? Duration) }
    }
}

// As with Task.sleep: on Linux the continuous clock is CLOCK_BOOTTIME, the suspending one CLOCK_MONOTONIC.

extension ContinuousClock: EngineTimedClock {
    var host: any TimerHost { BootTimeTimerEngine.shared.core }

    func plan(_ deadline: Any, _ tolerance: Any?) -> Sleeper.Plan? {
        (deadline as? Instant).map { .init(rest: now.duration(to: $0), host.time, tolerance as? Duration) }
    }
}

extension SuspendingClock: EngineTimedClock {
    var host: any TimerHost { MonotonicClock().host }

    func plan(_ deadline: Any, _ tolerance: Any?) -> Sleeper.Plan? {
        (deadline as? Instant).map { .init(rest: now.duration(to: $0), host.time, tolerance as? Duration) }
    }
}

extension Sleeper.Plan {
    /// Makes a plan from a rest, for clocks with opaque instants. `rest` was read before: the time that passes in between
    /// makes the deadline later, not earlier.
    fileprivate init(rest: Duration, _ time: TimeBase, _ tolerance: Duration?) {
        self.init(until: time.now_ns.addingSaturating(rest.nanosecondsRoundedUp), tolerance: tolerance)
    }
}
#endif
