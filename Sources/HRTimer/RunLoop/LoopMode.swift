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
        /// Stands for all modes that were declared common, `.default` to begin with; see `addCommonMode(_:)`. A loop cannot
        /// run in it.
        public static let common = Mode("kCFRunLoopCommonModes")
        /// While a user drags or scrolls.
        public static let eventTracking = Mode("NSEventTrackingRunLoopMode")
        /// While a modal panel is up.
        public static let modal = Mode("NSModalPanelRunLoopMode")
        /// Before the application has finished launching.
        public static let initialization = Mode("kCFRunLoopInitializationMode")
    }
}
