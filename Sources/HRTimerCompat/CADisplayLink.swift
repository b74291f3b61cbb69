public import HRTimer
import HRTimerCore

/// `DisplayLink` as QuartzCore spells it: seconds as `Double`, whole frames a second.
///
///     let link = CADisplayLink(target: self, action: Screen.step)
///     link.add(to: .main, forMode: .common)
///
/// Follows the real display where there is one, see `VsyncSource.shared`. Linux has no selectors: the method is given as
/// `Target.method`. Holds its target, and the loop holds it, until `invalidate()`.
public final class CADisplayLink: Sendable {
    /// What does the work.
    public let link: DisplayLink
    private let keeper: Keeper

    /// Holds the link while it is in a loop, as the run loop of Darwin does.
    private final class Keeper: Sendable {
        private struct State: Sendable {
            weak var known: CADisplayLink?
            var held: CADisplayLink?
        }
        private let state = Locked(State())

        var known: CADisplayLink? { state.withLock { $0.known } }

        func hold(_ link: CADisplayLink?) {
            let before = state.withLock { state in
                defer {
                    state.held = link
                    if let link { state.known = link }
                }
                return state.held
            }
            withExtendedLifetime(before) {}
        }
    }

    /// Calls `action` on `target` once a refresh. `source` is where the refreshes come from; nil for the display's. A method of
    /// an actor, as of a `@MainActor` type, is called on that.
    public init<Target: AnyObject & Sendable>(
        target: Target,
        source: VsyncSource? = nil,
        action: @escaping @Sendable (Target) -> @isolated(any) @Sendable (CADisplayLink) -> Void
    ) {
        let keeper = Keeper()
        self.keeper = keeper
        let call = onItsActor(merges: true, unless: { keeper.known.map { !$0.link.isValid } ?? true }, action(target))
        link = DisplayLink(source: source) { _ in
            if let link = keeper.known { call(link) }
        }
    }

    /// Has the loop call the target when it runs in `mode`.
    public func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        guard link.isValid else { return }
        keeper.hold(self)
        link.add(to: loop, forMode: mode)
    }

    /// Takes the link out of a mode.
    public func remove(from loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        link.remove(from: loop, forMode: mode)
        if !link.isInLoop { keeper.hold(nil) }
    }

    /// Ends the link, and lets its target go.
    public func invalidate() {
        link.invalidate()
        keeper.hold(nil)
    }

    /// Whether calls are held back.
    public var isPaused: Bool {
        get { link.isPaused }
        set { link.isPaused = newValue }
    }

    /// The refresh of the present call, in seconds of `CACurrentMediaTime()`.
    public var timestamp: CFTimeInterval { link.timestamp.mediaTime }

    /// The refresh that the frame is for.
    public var targetTimestamp: CFTimeInterval { link.targetTimestamp.mediaTime }

    /// The time between two refreshes of the display, in seconds.
    public var duration: CFTimeInterval { Double(link.duration.nanosecondsRoundedUp) / 1e9 }

    /// The wished rate of calls; 0 for the display's.
    public var preferredFramesPerSecond: Int {
        get { Int(link.preferredFramesPerSecond.rounded()) }
        set { link.preferredFramesPerSecond = Double(newValue) }
    }

    /// The wished rates of calls.
    public var preferredFrameRateRange: CAFrameRateRange {
        get { CAFrameRateRange(link.preferredFrameRateRange) }
        set { link.preferredFrameRateRange = newValue.range }
    }

    /// Every which refresh has a call.
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

/// `FrameRateRange` as QuartzCore spells it. Zero is no bound, and no preference.
public struct CAFrameRateRange: Hashable, Sendable {
    /// The slowest.
    public var minimum: Float
    /// The fastest.
    public var maximum: Float
    /// The best.
    public var preferred: Float?

    /// Rates from `minimum` to `maximum`.
    public init(minimum: Float, maximum: Float, preferred: Float? = nil) {
        (self.minimum, self.maximum, self.preferred) = (minimum, maximum, preferred)
    }

    /// Whatever the display has.
    public static let `default` = CAFrameRateRange(minimum: 0, maximum: 0, preferred: 0)

    init(_ range: FrameRateRange) {
        self.init(
            minimum: Float(range.minimum),
            maximum: range.maximum.isFinite ? Float(range.maximum) : 0,
            preferred: range.preferred.map { Float($0) } ?? 0
        )
    }

    var range: FrameRateRange {
        FrameRateRange(minimum: Double(minimum), maximum: Double(maximum), preferred: preferred.map { Double($0) })
    }
}
