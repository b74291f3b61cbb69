#if os(Linux)
extension TimerLoop {
    /// A named set of timers and sources: a loop runs in one mode at a time and serves only what belongs to it.
    ///
    /// Any string makes a mode. One that is never used costs nothing, one that was used a few bytes in its loop.
    public struct Mode: RawRepresentable, Hashable, Sendable {
        /// The mode's name.
        public let rawValue: String

        /// The mode of that name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The mode of that name.
        public init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// What a loop runs in when nothing special goes on.
        public static let `default` = Mode("kCFRunLoopDefaultMode")
        /// Stands for all modes that were declared common, `.default` and `.tracking` to begin with; see `addCommonMode(_:)`. A
        /// loop cannot run in it.
        public static let common = Mode("kCFRunLoopCommonModes")
        /// While a user drags or scrolls, as UIKit calls it. A common mode from the start, as on iOS.
        public static let tracking = Mode("UITrackingRunLoopMode")
        /// The same as AppKit calls it. No common mode unless it is declared one.
        public static let eventTracking = Mode("NSEventTrackingRunLoopMode")
        /// While a modal panel is up.
        public static let modalPanel = Mode("NSModalPanelRunLoopMode")
        /// The same, for short.
        public static let modal = modalPanel
        /// Before the application has finished launching.
        public static let initialization = Mode("kCFRunLoopInitializationMode")
    }
}

extension TimerLoop.Mode: CustomStringConvertible {
    /// The mode's name.
    public var description: String { rawValue }
}
#endif
