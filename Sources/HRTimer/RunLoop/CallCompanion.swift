/// What a timer has whose handler wants more of its loop than to be called: a display link's.
class CallCompanion: @unchecked Sendable {
    // Sendable: `called_ns` is touched by the thread of the timer's loop alone, which also makes the calls.

    /// What the loop's clock read just before the call that runs, or the latest.
    @exclusivity(unchecked) final var called_ns = Int64.min

    /// The thread is awake shortly before a precise call, which then waits for its deadline: all that can be done
    /// before is to be done now. Without a lock.
    func prepare() {}

    /// The call that was prepared does not come; its timer may be called another time. Without a lock.
    func withdraw() {}
}
