/// What a timer has whose handler wants more of its loop than to be called: a display link's.
final class CallPrelude: @unchecked Sendable {
    // Sendable: `called_ns` is touched by the thread of the timer's loop alone.

    /// Called by the loop's thread when it is awake shortly before a precise call, which then waits for its deadline: to have
    /// what that needs in the caches. Without a lock; the call may still be called off.
    let body: @Sendable () -> Void

    /// What the loop's clock read just before the call that runs, or the latest.
    var called_ns = Int64.min

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}
