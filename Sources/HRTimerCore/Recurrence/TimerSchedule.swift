// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// When a timer fires: how often, how far it has come on its grid, and by how much its calls are spread.
///
/// A timer of an engine and a source have it in the core's record. A loop's timer has it in its own object, since it exists
/// before its loop and after it; the loop's core reads it there. One `begin` and one `end` decide about all of them.
package struct TimerSchedule: Sendable {
    // The recurrence is last, since it ends with a byte: the small fields of a record use the rest of that word.
    package var jitter: TickJitter?
    /// The next nominal deadline. It stays until a call for it has ended.
    package var position = GridPosition(deadline_ns: .max)
    package var recurrence = Recurrence.once

    package init(_ recurrence: Recurrence = .once, _ position: GridPosition = GridPosition(deadline_ns: .max)) {
        self.recurrence = recurrence
        self.position = position
    }

    /// The deadline of the next call: the nominal one and its jitter.
    package var deadline_ns: Int64 { deadline_ns(for: position.deadline) }

    /// Returns the deadline of the call for a nominal one.
    package func deadline_ns(for nominal: ExactInstant) -> Int64 {
        jitter?.deadline_ns(nominal.rounded_ns, recurrence) ?? nominal.rounded_ns
    }

    /// What comes after a call. It is computed when the call is prepared, and stored when the call has ended: so a call that is
    /// withdrawn has changed nothing.
    package struct Following: Sendable {
        /// The nominal deadline, which holds unless the return of the handler takes part in deciding it.
        package var deadline: ExactInstant
        /// The policy under which the call began, and under which it ends; another one counts from the next call.
        package var policy: MissedTickPolicy

        package init(_ deadline: ExactInstant, _ policy: MissedTickPolicy) {
            (self.deadline, self.policy) = (deadline, policy)
        }
    }

    /// What becomes of a deadline that has come.
    package enum Begun {
        /// A call, which reports so many ticks beside its own.
        case call(missed: Int, Following)
        /// The policy leaves the tick out, and the schedule has moved on. So many ticks had no call, with this one.
        case leftOut(Int)
    }

    /// Decides about the deadline, which has come: `deadline_ns <= now_ns`, the instant of the call.
    package mutating func begin(now_ns: Int64) -> Begun {
        var next = position
        if let missed = recurrence.begin(&next, now_ns: now_ns, jitter) {
            return .call(missed: missed, Following(next.deadline, recurrence.policy))
        }
        let missed = next.unreported - position.unreported
        position = next
        return .leftOut(missed)
    }

    /// Stores what follows a call, whose handler has returned at `now_ns`.
    package mutating func end(_ following: Following, now_ns: Int64) {
        position = GridPosition(following.deadline)
        recurrence.with(following.policy).end(&position, now_ns: now_ns, jitter)
    }
}
#endif
