/// A handler whose preparation is done before its deadline, where the engine is awake by then: what the deadline leaves to do
/// is one call.
package protocol StagedHandler: AnyObject, Sendable {
    /// The deadline that the timer was moved to without telling the engine, later than the one that has come; nil if it was
    /// not. Called with the engine's lock held.
    func laterDeadline() -> Int64?

    /// Makes up the call as of `now_ns`, the deadline or later. Nil if there is nothing to call.
    func prepare(_ now_ns: Int64) -> (@Sendable () -> Void)?

    /// After the call, or without one if it was called off. Follows each `prepare`, on the same thread.
    func finish(wasCalled: Bool)
}
