#if os(Linux)
/// Why a test on virtual time failed, as `withManualTime` throws it: the description is all there is to read.
public struct TestTimeFailure: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public enum Reason: Sendable, Hashable {
        /// All wait, and nothing is pending that time could move to.
        case deadlock
        /// The body has returned, and something is pending still.
        case leftovers
        /// Something outside of virtual time did not end: a hold, a block on a queue, a thread.
        case standstill
        /// There is always something more to do at one instant, so that time never moves.
        case busy
        /// A task or a handler does not let go of the test's thread: it waits there for a lock or a semaphore, perhaps, that
        /// another task of the test has, or computes.
        case blocked
    }

    /// What went wrong.
    public let reason: Reason
    /// What the clock read.
    public let instant: String
    /// Who sleeps, what is held, and what is armed, one a line.
    public let pending: [String]

    /// A sentence, and what was pending, one a line.
    public var description: String {
        let sentence =
            switch reason {
            case .deadlock: "deadlock: the test waits, and nothing is pending that virtual time could move to"
            case .leftovers: "the test has ended, and something is still pending"
            case .standstill: "virtual time stands still: something outside of it does not end"
            case .busy: "virtual time stands still: there is always something more to do at this instant"
            case .blocked: "virtual time stands still: what runs on its thread blocks it, or computes without end"
            }
        let lines = pending.isEmpty ? ["nothing is armed, held, or sleeps on a clock of this time"] : pending
        return (["\(sentence), at \(instant)"] + lines).joined(separator: "\n  ")
    }
}
#endif
