public import HRTimer
import HRTimerCore

/// `DisplayLink` as QuartzCore spells it: seconds as `Double`, whole frames a second.
///
///     let link = CADisplayLink(target: self, action: Screen.step)
///     link.add(to: .main, forMode: .common)
///
/// Follows the real display where there is one, see `VsyncSource.shared`. Linux has no selectors: the method is given as
/// `Target.method`. Holds its target until `invalidate()`; the loop it is in holds it until that, or until the loop ends.
public final class CADisplayLink: Sendable {
    /// What does the work.
    public let link: DisplayLink

    private struct Known: Sendable {
        weak var link: CADisplayLink?
    }

    /// Calls `action` on `target` once a refresh. `source` is where the refreshes come from; nil for the display's. A method of
    /// an actor, as of a `@MainActor` type, is called on that.
    public init<Target: AnyObject & Sendable>(
        target: Target,
        source: VsyncSource? = nil,
        action: @escaping @Sendable (Target) -> @isolated(any) @Sendable (CADisplayLink) -> Void
    ) {
        // Weak, for the link is part of this; it lives while it is called, since the loop holds it.
        let known = Locked(Known())
        let method = action(target)
        let call = withoutActor(method)
        let handler: DisplayLink.Handler = { _ in
            if let link = known.withLock({ $0.link }) { call(link) }
        }
        link = DisplayLink(source: source, handler: handler, on: method.isolation)
        known.withLock { $0.link = self }
    }

    /// The same with the label that ported code has: `CADisplayLink(target: self, selector: Screen.step)`.
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

    /// Takes the link out of a mode; out of its last one the loop lets go of it.
    public func remove(from loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        link.remove(from: loop, forMode: mode)
    }

    /// Ends the link, and lets its target go.
    public func invalidate() {
        link.invalidate()
    }

    /// Whether calls are held back.
    public var isPaused: Bool {
        get { link.isPaused }
        set { link.isPaused = newValue }
    }

    /// The refresh of the present or latest call, in seconds of `CACurrentMediaTime()`; 0 before the first call.
    public var timestamp: CFTimeInterval { link.toldTimestamps?.present.mediaTime ?? 0 }

    /// The refresh that the frame is for; 0 before the first call.
    public var targetTimestamp: CFTimeInterval { link.toldTimestamps?.target.mediaTime ?? 0 }

    /// The time between two refreshes of the display, in seconds.
    public var duration: CFTimeInterval { Double(link.duration.nanosecondsRoundedUp) / 1e9 }

    /// The preferred rate of calls; 0 for the display's. One that was set by `link` is rounded, and `Int.max` if it is greater.
    public var preferredFramesPerSecond: Int {
        get { Int(exactly: link.preferredFramesPerSecond.rounded()) ?? .max }
        set { link.preferredFramesPerSecond = Double(newValue) }
    }

    /// The range of rates that is asked for.
    public var preferredFrameRateRange: CAFrameRateRange {
        get { CAFrameRateRange(link.preferredFrameRateRange) }
        set { link.preferredFrameRateRange = newValue.range }
    }

    /// A call comes every so many refreshes.
    public var frameInterval: Int {
        get { link.frameInterval }
        set { link.frameInterval = newValue }
    }
}

/// Seconds.
public typealias CFTimeInterval = Double

/// What the monotonic clock reads, in seconds: `CLOCK_MONOTONIC`, as Darwin's stands still while the system sleeps.
public func CACurrentMediaTime() -> CFTimeInterval { MonotonicInstant.now.mediaTime }

extension MonotonicInstant {
    fileprivate var mediaTime: CFTimeInterval { Double(nanoseconds) / 1e9 }
}

/// `FrameRateRange` as QuartzCore spells it. Zero is no bound, and no preference, as nil is.
public struct CAFrameRateRange: Hashable, Sendable {
    /// The slowest.
    public var minimum: Float
    /// The fastest.
    public var maximum: Float
    /// The best; nil, or 0, for none.
    public var preferred: Float?

    /// Rates from `minimum` to `maximum`.
    public init(minimum: Float, maximum: Float, preferred: Float? = nil) {
        (self.minimum, self.maximum, self.preferred) = (minimum, maximum, preferred)
    }

    /// Whatever the display has.
    public static let `default` = CAFrameRateRange(minimum: 0, maximum: 0)

    /// Equal bounds and preferences, of which 0 is none.
    public static func == (one: Self, other: Self) -> Bool { one.key == other.key }

    /// As `==` has it.
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

/// A range, as C has it: a preference of 0 is none.
public func CAFrameRateRangeMake(_ minimum: Float, _ maximum: Float, _ preferred: Float) -> CAFrameRateRange {
    CAFrameRateRange(minimum: minimum, maximum: maximum, preferred: preferred == 0 ? nil : preferred)
}
