#if os(Linux)
extension TimerLoop {
    /// A named set of timers and sources. A loop runs in one mode at a time and serves only what belongs to that mode.
    ///
    /// Any string makes a mode. A mode that is never used costs nothing; one that was used costs a few bytes in its loop.
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

        /// The mode in which a loop runs when nothing special goes on.
        public static let `default` = Mode("kCFRunLoopDefaultMode")
        /// Stands for all modes that were declared common, at first `.default` and `.tracking`; see `addCommonMode(_:)`. A loop
        /// cannot run in `.common` itself.
        public static let common = Mode("kCFRunLoopCommonModes")
        /// The mode while a user drags or scrolls, under UIKit's name. A common mode from the start, as on iOS.
        public static let tracking = Mode("UITrackingRunLoopMode")
        /// The mode while a user drags or scrolls, under AppKit's name. Not a common mode unless it is declared one.
        public static let eventTracking = Mode("NSEventTrackingRunLoopMode")
        /// The mode while a modal panel is up.
        public static let modalPanel = Mode("NSModalPanelRunLoopMode")
        /// A shorter name of `modalPanel`.
        public static let modal = modalPanel
        /// The mode before the application has finished launching.
        public static let initialization = Mode("kCFRunLoopInitializationMode")
    }
}

extension TimerLoop.Mode: CustomStringConvertible {
    /// The mode's name.
    public var description: String { rawValue }
}
#endif
