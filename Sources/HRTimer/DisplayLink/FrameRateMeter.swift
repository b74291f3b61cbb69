public import HRTimerCore

/// Counts frames and measures their rate: what an FPS label shows.
///
///     let meter = FrameRateMeter()
///     let link = DisplayLink { link in
///         meter.note(link)
///         label.text = meter.text
///     }
///
/// Any thread; one at a time notes frames. No memory but a histogram's.
public final class FrameRateMeter: Sendable {
    private struct State: Sendable {
        var first_ns: Int64?
        var last_ns: Int64?
        /// Frames since `first_ns`, which itself is none.
        var frames = 0
        var counted: Double?
        var instantaneous: Double?
        var smoothed: Double?
        var maximum: Double
        var droppedFrames = 0
        /// What the link has dropped before the meter saw it is not counted.
        var toldDropped: Int?
        /// The link's, at its latest call.
        var rests: Int?
        /// The next frame ends a pause.
        var isPaused = false
    }

    private let state: Locked<State>
    private let histogram = LatencyHistogram()
    private let window_ns: Int64

    /// A meter that counts over `window` before it gives a rate, a second at least. The colour is green at `maximum`
    /// frames a second, which `note(_:)` sets to the link's.
    public init(window: some TimeSpan = Duration.seconds(1), maximum: Double = 60) {
        window_ns = max(1_000_000_000, window.nanosecondsOrZero)
        state = Locked(State(maximum: maximum > 0 ? maximum : 60))
    }

    /// One frame, that of a link's present call. Time in which the link had no calls by intent is no frame: it was paused, in no
    /// loop, or its surface hidden.
    public func note(_ link: DisplayLink) {
        let (maximum, dropped) = (link.maximumFramesPerSecond, link.droppedFrames)
        let rests = link.state.withLock { $0.reported.rests }
        state.withLock { state in
            if let before = state.rests, before != rests { state.isPaused = true }
            state.rests = rests
        }
        note(at: link.timestamp)
        state.withLock { state in
            state.maximum = maximum
            state.droppedFrames += max(0, dropped - (state.toldDropped ?? dropped))
            state.toldDropped = dropped
        }
    }

    /// The time up to the next frame is a pause, and no frame. For frames that are noted by their instants.
    public func notePause() {
        state.withLock { $0.isPaused = true }
    }

    /// One frame. An instant that is not later than that of the frame before does not count.
    public func note(at instant: MonotonicInstant) {
        let now_ns = instant.nanoseconds
        state.withLock { state in
            guard let last_ns = state.last_ns, let first_ns = state.first_ns else {
                (state.first_ns, state.last_ns) = (now_ns, now_ns)
                return
            }
            guard now_ns > last_ns else { return }
            let step_ns = now_ns.subtractingSaturating(last_ns)
            if state.isPaused {
                // The window is as much longer.
                (state.first_ns, state.last_ns) = (first_ns.addingSaturating(step_ns), now_ns)
                state.isPaused = false
                return
            }
            histogram.record(step_ns)
            state.last_ns = now_ns
            let rate = 1e9 / Double(step_ns)
            state.instantaneous = rate
            // A tenth of the new one: a step has passed for the most part after twenty frames.
            let smoothed_ns = state.smoothed.map { 1e9 / $0 } ?? Double(step_ns)
            state.smoothed = 1e9 / (smoothed_ns + 0.1 * (Double(step_ns) - smoothed_ns))
            state.frames += 1
            let elapsed_ns = now_ns.subtractingSaturating(first_ns)
            guard elapsed_ns >= window_ns else { return }
            state.counted = Double(state.frames) * 1e9 / Double(elapsed_ns)
            (state.first_ns, state.frames) = (now_ns, 0)
        }
    }

    /// Frames a second, counted over the latest whole window; nil before there was one.
    public var framesPerSecond: Double? { state.withLock { $0.counted } }

    /// By the latest two frames alone.
    public var instantaneousFramesPerSecond: Double? { state.withLock { $0.instantaneous } }

    /// By the frame times of the latest twenty or so, the newer the more.
    public var smoothedFramesPerSecond: Double? { state.withLock { $0.smoothed } }

    /// Those that the link left out since the meter first noted it.
    public var droppedFrames: Int { state.withLock { $0.droppedFrames } }

    /// How often each time from one frame to the next occurred, so far.
    public var frameTimes: LatencyHistogram { histogram.copy() }

    /// The colour of the classic label: 0 is red, at a fifth of the maximum and below, 0.216 a yellowish green, at the maximum.
    /// A hue, of which 1 is the whole circle.
    public var hue: Double {
        let (counted, maximum) = state.withLock { ($0.counted, $0.maximum) }
        let part = min((counted ?? maximum) / maximum, 1)
        return max(0, 0.27 * (part - 0.2))
    }

    /// `60 FPS`; a dash for the number before there is one.
    public var text: String { (framesPerSecond.map { "\(Int($0.rounded()))" } ?? "–") + " FPS" }

    /// The text in its colour, for a terminal with 24 bits of colour (ECMA-48, SGR 38;2).
    public var ansiText: String {
        // Within the first third of the circle red gives way to green.
        let sixth = hue * 6
        let (red, green) = (min(1, max(0, 2 - sixth)), min(1, sixth))
        return "\u{1b}[38;2;\(Int(red * 230));\(Int(green * 230));0m\(text)\u{1b}[0m"
    }
}
