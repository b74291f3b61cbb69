#if os(Linux)
/// What is equal to itself alone: loops, timers, engines. Public because what makes these `Hashable` is; of no use by itself.
@_documentation(visibility: internal)
public protocol ComparedByIdentity: AnyObject, Hashable {}

extension ComparedByIdentity {
    /// Whether both are the same object.
    public static func == (left: Self, right: Self) -> Bool { left === right }

    /// Feeds the object's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension TimerEngine: ComparedByIdentity {}
extension ClockTimerEngine: ComparedByIdentity {}
#endif
