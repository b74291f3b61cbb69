// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// An object that is equal to itself alone: a loop, a timer, an engine. Public because it makes public types `Hashable`; of
/// no use by itself.
@_documentation(visibility: internal)
public protocol ComparedByIdentity: AnyObject, Hashable {}

extension ComparedByIdentity {
    /// Returns whether both are the same object.
    public static func == (left: Self, right: Self) -> Bool { left === right }

    /// Feeds the object's identity to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension AnyTimerEngine: ComparedByIdentity {}
#endif
