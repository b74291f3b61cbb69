#if os(Linux)
public import HRTimer
import HRTimerCore

/// `DisplayLink` with QuartzCore's interface: seconds as `Double`, whole frames a second.
///
///     let link = CADisplayLink(target: self, action: Screen.step)
///     link.add(to: .main, forMode: .common)
///
/// Follows the real display if there is one, see `VsyncSource.shared`. Linux has no selectors: the method is passed as
/// `Target.method`. Holds its target until `invalidate()`; the loop holds the link until then, or until the loop ends.
public final class CADisplayLink: Sendable {
    /// The link that does the work.
    public let link: DisplayLink

    private struct Known: Sendable {
        weak var link: CADisplayLink?
    }

    /// Calls `action` on `target` once a refresh. `source` is where the refreshes come from; nil for the display's. A
    /// method of an actor, as of a `@MainActor` type, is called on that actor.
    public init<Target: AnyObject & Sendable>(
        target: Target,
        source: VsyncSource? = nil,
        action: @escaping @Sendable (Target) -> @isolated(any) @Sendable (CADisplayLink) -> Void
    ) {
        // Weak, since the link is part of this object; during a call the loop holds it.
        let known = Locked(Known())
        let method = action(target)
        let call = withoutActor(method)
        let handler: DisplayLink.Handler = { _ in
            if let link = known.withLock({ $0.link }) { call(link) }
        }
        link = DisplayLink(source: source, handler: handler, on: method.isolation)
        known.withLock { $0.link = self }
    }

    /// The same with the argument label of ported code: `CADisplayLink(target: self, selector: Screen.step)`.
    public convenience init<Target: AnyObject & Sendable>(
        target: Target,
        selector: @escaping @Sendable (Target) -> @isolated(any) @Sendable (CADisplayLink) -> Void
    ) {
        self.init(target: target, action: selector)
    }

    /// Has the loop call the target when it runs in `mode`. One loop at a time, see `DisplayLink.add(to:forMode:)`.
    public func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        link.add(to: loop, forMode: mode, holder: self)
    }

    /// Removes the link from a mode; without modes the loop no longer holds it.
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

    /// The refresh of the present or latest call, in seconds of `CACurrentMediaTime()`; 0 before the first call.
    public var timestamp: CFTimeInterval { link.toldTimestamps?.present.mediaTime ?? 0 }

    /// The refresh at which the frame is to appear; 0 before the first call.
    public var targetTimestamp: CFTimeInterval { link.toldTimestamps?.target.mediaTime ?? 0 }

    /// The time between two refreshes of the display, in seconds.
    public var duration: CFTimeInterval { Double(link.duration.nanosecondsRoundedUp) / 1e9 }

    /// The preferred rate of calls; 0 for the display's. A rate that was set by `link` is rounded, and is `Int.max` if
    /// it is greater.
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

/// Seconds.
public typealias CFTimeInterval = Double

/// The monotonic clock's reading, in seconds: `CLOCK_MONOTONIC`, which as Darwin's stands still while the system
/// sleeps.
public func CACurrentMediaTime() -> CFTimeInterval { MonotonicInstant.now.mediaTime }

extension MonotonicInstant {
    fileprivate var mediaTime: CFTimeInterval { Double(nanoseconds) / 1e9 }
}

/// `FrameRateRange` with QuartzCore's interface. Zero is no bound and no preference, as nil is.
public struct CAFrameRateRange: Hashable, Sendable {
    /// The slowest.
    public var minimum: Float
    /// The fastest.
    public var maximum: Float
    /// The preferred; nil or 0 for none.
    public var preferred: Float?

    /// Rates from `minimum` to `maximum`.
    public init(minimum: Float, maximum: Float, preferred: Float? = nil) {
        (self.minimum, self.maximum, self.preferred) = (minimum, maximum, preferred)
    }

    /// Any rate of the display.
    public static let `default` = CAFrameRateRange(minimum: 0, maximum: 0)

    /// Equal bounds and preferences; 0 counts as no preference.
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

/// A range as in C: a preference of 0 is none.
public func CAFrameRateRangeMake(_ minimum: Float, _ maximum: Float, _ preferred: Float) -> CAFrameRateRange {
    CAFrameRateRange(minimum: minimum, maximum: maximum, preferred: preferred == 0 ? nil : preferred)
}
#endif
