// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// The failure of a test on virtual time, as `withManualTime` throws it.
///
/// Its description says all there is to know.
public struct TestTimeFailure: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public enum Reason: Sendable, Hashable {
        /// Everything waits, and nothing is pending that time could move to.
        case deadlock
        /// The body has returned, and something is still pending.
        case leftovers
        /// Something outside of virtual time did not end: a hold, a block on a queue, a thread.
        case standstill
        /// There is always something more to do at one instant, so that time never moves.
        case busy
        /// A task or a handler keeps the test's thread: perhaps it waits there for a lock or a semaphore that another task of
        /// the test has, or it computes.
        case blocked
    }

    /// What went wrong.
    public let reason: Reason
    /// The clock's reading.
    public let instant: String
    /// The tasks that sleep, the holds, and what is armed, one per line.
    public let pending: [String]

    /// A sentence that says what went wrong, and then what was pending, one per line.
    public var description: String {
        let sentence =
            switch reason {
            case .deadlock: "deadlock: the test waits, and nothing is pending that virtual time could move to"
            case .leftovers: "something is still pending, at the end of the test or at checkNothingIsPending()"
            case .standstill: "virtual time stands still: something outside of it does not end"
            case .busy: "virtual time stands still: there is always something more to do at this instant"
            case .blocked: "virtual time stands still: what runs on its thread blocks it, or computes without end"
            }
        let lines = pending.isEmpty ? ["nothing is armed, held, or sleeps on a clock of this time"] : pending
        return (["\(sentence), at \(instant)"] + lines).joined(separator: "\n  ")
    }
}
#endif
