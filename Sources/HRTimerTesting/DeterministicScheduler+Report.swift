// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimer

/// Descriptions of what is pending, for messages.
extension DeterministicScheduler {
    /// Describes everything that waits for something, one per line.
    func report(_ time: ManualTime) -> [String] {
        let state = state.withLock { state in
            (
                requests: state.requests, sleeps: state.sleeps, batons: state.batons.map(\.description),
                holds: state.holds, step: state.isOnItsThread ? nil : state.step
            )
        }
        var lines = state.step.map { ["\($0.description) has not come back"] } ?? []
        lines += state.requests.map { "the test waits in \($0.description)" }
        lines += Self.describe(state.sleeps)
        lines += time.participants.filter { $0.liveTimers > 0 }.map(Self.describe)
        lines += state.batons
        lines += state.holds.sorted { $0.key < $1.key }.map { "held: \($0.value)" }
        return lines
    }

    /// Describes what must not be left at the end, one per line. Work that waits without a deadline does no harm, nor does work
    /// that was begun as background.
    func leftovers(_ time: ManualTime) -> [String] {
        let state = state.withLock { state in
            (
                sleeps: state.sleeps, batons: state.batons.filter(\.isPending).map(\.description), holds: state.holds
            )
        }
        var background: [ObjectIdentifier: Int] = [:]
        for sleep in state.sleeps.values where sleep.isBackground { background[sleep.participant, default: 0] += 1 }
        var lines = Self.describe(state.sleeps.filter { !$0.value.isBackground })
        lines += time.participants
            .filter { $0.nextDeadline_ns < .max && $0.liveTimers > background[ObjectIdentifier($0)] ?? 0 }
            .map(Self.describe)
        lines += state.batons
        lines += state.holds.sorted { $0.key < $1.key }.map { "held: \($0.value)" }
        return lines
    }

    private static func describe(_ participant: any VirtualTimeParticipant) -> String {
        let timers = counted(participant.liveTimers, "timer")
        let next = text(participant.nextDeadline_ns)
        return "engine \(participant.name): \(timers), next at \(next)"
    }

    private static func describe(_ sleeps: [Int: Sleep]) -> [String] {
        sleeps.sorted { $0.key < $1.key }.map { "\(name($0.key, $0.value)) sleeps until \(text($0.value.deadline_ns))" }
    }

    private static func name(_ task: Int, _ sleep: Sleep) -> String {
        sleep.name.map { "task \(task) (\($0))" } ?? "task \(task)"
    }

    static func text(_ instant_ns: Int64) -> String { MonotonicInstant(nanoseconds: instant_ns).description }
}

extension DeterministicScheduler.Request {
    var description: String {
        switch kind {
        case .idle: "runUntilIdle(), at \(place)"
        case .nextSleep: "nextSleep(), at \(place)"
        case .advance(let to_ns): "advance(to: \(DeterministicScheduler.text(to_ns))), at \(place)"
        case .run: "run(limit:), at \(place)"
        }
    }
}

// With the scheduler's lock held.
extension Baton {
    var isPending: Bool {
        if case .parked(_, let deadline_ns, _) = phase { return deadline_ns < .max }
        return true
    }

    var description: String {
        switch phase {
        case .waiting: "\(name) has not begun"
        case .running: "\(name) has not ended"
        case .parked(_, .max, _): "\(name) waits for something to do"
        case .parked(_, let deadline_ns, _): "\(name) waits until \(DeterministicScheduler.text(deadline_ns))"
        case .ended: "\(name) has ended"
        }
    }
}
#endif
