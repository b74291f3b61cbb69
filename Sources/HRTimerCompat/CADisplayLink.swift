// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimer
import HRTimerCore

/// `DisplayLink` with QuartzCore's interface: seconds as `Double`, whole frames per second.
///
///     let link = CADisplayLink(target: self, selector: Screen.step)
///     link.add(to: .main, forMode: .common)
///
/// Follows the real display if there is one; see `VsyncSource.shared`. Linux has no selectors: the method is passed as
/// `Target.method`. The link holds its target until `invalidate()`; the loop holds the link until then, or until the loop ends.
/// Any thread may use all members; calls of the target come one after the other, on the loop's thread or its actor.
public final class CADisplayLink: Sendable {
    /// The `DisplayLink` that does the work.
    public let link: DisplayLink

    private struct Known: Sendable {
        weak var link: CADisplayLink?
    }

    /// A link that calls the method on `target` once per refresh.
    ///
    /// The refreshes come from `source`, or from the display if that is nil. A method of an actor, such as one of a
    /// `@MainActor` type, is called on that actor.
    public init<Target: AnyObject & Sendable>(
        target: Target,
        source: VsyncSource? = nil,
        selector: @escaping @Sendable (Target) -> @isolated(any) @Sendable (CADisplayLink) -> Void
    ) {
        // Weak, since the link is part of this object. During a call the loop holds this object.
        let known = Locked(Known())
        let method = selector(target)
        let call = withoutActor(method)
        let handler: DisplayLink.Handler = { _ in
            if let link = known.withLock({ $0.link }) { call(link) }
        }
        link = DisplayLink(source: source, handler: handler, on: method.isolation)
        known.withLock { $0.link = self }
    }

    /// Makes the loop call the target when it runs in `mode`.
    ///
    /// One loop at a time; see `DisplayLink.add(to:forMode:)`.
    public func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        link.add(to: loop, forMode: mode, holder: self)
    }

    /// Removes the link from a mode.
    ///
    /// After its last mode the loop no longer holds it.
    public func remove(from loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        link.remove(from: loop, forMode: mode)
    }

    /// Ends the link, and releases its target.
    public func invalidate() {
        link.invalidate()
    }

    /// Whether calls are suspended.
    public var isPaused: Bool {
        get { link.isPaused }
        set { link.isPaused = newValue }
    }

    /// The time of the refresh of the present or latest call, in seconds of `CACurrentMediaTime()`; 0 before the first call.
    public var timestamp: CFTimeInterval { link.toldTimestamps?.present.mediaTime ?? 0 }

    /// The time of the refresh at which the frame is to appear, in the same seconds; 0 before the first call.
    public var targetTimestamp: CFTimeInterval { link.toldTimestamps?.target.mediaTime ?? 0 }

    /// The time between two refreshes of the display, in seconds.
    public var duration: CFTimeInterval { Double(link.duration.nanosecondsRoundedUp) / 1e9 }

    /// The preferred rate of calls; 0 for the display's rate.
    ///
    /// A rate that was set on `link` is rounded, and reads as `Int.max` if it is greater than that.
    public var preferredFramesPerSecond: Int {
        get { Int(exactly: link.preferredFramesPerSecond.rounded()) ?? .max }
        set { link.preferredFramesPerSecond = Double(newValue) }
    }

    /// The requested range of rates.
    public var preferredFrameRateRange: CAFrameRateRange {
        get { CAFrameRateRange(link.preferredFrameRateRange) }
        set { link.preferredFrameRateRange = newValue.range }
    }

    /// The number of refreshes from one call to the next.
    public var frameInterval: Int {
        get { link.frameInterval }
        set { link.frameInterval = newValue }
    }
}

/// A time in seconds.
public typealias CFTimeInterval = Double

/// Returns the monotonic clock's reading in seconds: `CLOCK_MONOTONIC`, which like Darwin's stands still while the system
/// sleeps.
public func CACurrentMediaTime() -> CFTimeInterval { MonotonicInstant.now.mediaTime }

extension MonotonicInstant {
    fileprivate var mediaTime: CFTimeInterval { Double(nanoseconds) / 1e9 }
}

/// `FrameRateRange` with QuartzCore's interface.
///
/// Zero means no bound or no preference, as nil does.
public struct CAFrameRateRange: Hashable, Sendable {
    /// The slowest rate.
    public var minimum: Float
    /// The fastest rate.
    public var maximum: Float
    /// The preferred rate; nil or 0 for none.
    public var preferred: Float?

    /// Rates from `minimum` to `maximum`.
    public init(minimum: Float, maximum: Float, preferred: Float? = nil) {
        (self.minimum, self.maximum, self.preferred) = (minimum, maximum, preferred)
    }

    /// Any rate of the display.
    public static let `default` = CAFrameRateRange(minimum: 0, maximum: 0)

    /// Whether bounds and preferences are equal; 0 counts as no preference.
    public static func == (one: Self, other: Self) -> Bool { one.key == other.key }

    /// Consistent with `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(key) }

    private var key: [Float] { [minimum, maximum, preferred ?? 0] }

    init(_ range: FrameRateRange) {
        self.init(
            minimum: Float(range.minimum),
            maximum: range.maximum.isFinite ? Float(range.maximum) : 0,
            preferred: range.preferred.map { Float($0) }
        )
    }

    var range: FrameRateRange {
        FrameRateRange(minimum: Double(minimum), maximum: Double(maximum), preferred: preferred.map { Double($0) })
    }
}

/// Makes a range as in C: a preference of 0 means none.
public func CAFrameRateRangeMake(_ minimum: Float, _ maximum: Float, _ preferred: Float) -> CAFrameRateRange {
    CAFrameRateRange(minimum: minimum, maximum: maximum, preferred: preferred == 0 ? nil : preferred)
}
#endif
