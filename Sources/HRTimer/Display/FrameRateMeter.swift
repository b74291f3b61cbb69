// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

/// A meter that counts frames and measures their rate, for an FPS label.
///
///     let meter = FrameRateMeter()
///     let link = DisplayLink { link in
///         meter.note(link)
///         label.text = meter.text
///     }
///
/// Any thread may use a meter, but only one at a time may note frames. The only memory it keeps is a histogram.
public final class FrameRateMeter: Sendable {
    private struct State: Sendable {
        var first_ns: Int64?
        var last_ns: Int64?
        /// Frames since `first_ns`, without the one at `first_ns`.
        var frames = 0
        var counted: Double?
        var smoothed: Double?
        var maximum: Double
        var droppedFrames = 0
        /// The link's dropped frames at the last note. Frames dropped before the first note do not count.
        var notedDropped: Int?
        /// How often the link had rested (had been without calls by intent) at the last note; nil before the first.
        var rests: Int?
        /// Whether the next frame ends a pause.
        var isPaused = false
    }

    private let state: Locked<State>
    private let histogram = LatencyHistogram()
    private let window_ns: Int64

    /// Creates a meter that counts over `window`, at least a second, before it reports a rate.
    ///
    /// The colour is green at `maximum` frames a second; `note(_:)` sets `maximum` to the rate of the link's display.
    public init(window: some TimeSpan = Duration.seconds(1), maximum: Double = 60) {
        window_ns = max(1_000_000_000, window.nanosecondsOrZero)
        state = Locked(State(maximum: maximum > 0 ? maximum : 60))
    }

    /// Notes the frame of a link's present call.
    ///
    /// Time in which the link had no calls by intent does not count: while it was paused, was in no loop, or had a hidden
    /// surface.
    public func note(_ link: DisplayLink) {
        let (maximum, dropped) = (link.maximumFramesPerSecond, link.droppedFrames)
        let rests = link.withState { $0.reported.rests }
        state.withLock { state in
            if let before = state.rests, before != rests { state.isPaused = true }
            state.rests = rests
        }
        note(at: link.timestamp)
        state.withLock { state in
            state.maximum = maximum
            state.droppedFrames += max(0, dropped - (state.notedDropped ?? dropped))
            state.notedDropped = dropped
        }
    }

    /// Marks the time up to the next frame as a pause, which does not count.
    ///
    /// Meant for frames that `note(at:)` notes.
    public func notePause() {
        state.withLock { $0.isPaused = true }
    }

    /// Notes one frame.
    ///
    /// An instant that is not later than that of the last frame does not count.
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
                // The window is extended by the pause.
                (state.first_ns, state.last_ns) = (first_ns.addingSaturating(step_ns), now_ns)
                state.isPaused = false
                return
            }
            histogram.record(step_ns)
            state.last_ns = now_ns
            // Each new frame time weighs a tenth. Twenty frames after a step, most of the step shows.
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

    /// Frames a second, from about the latest twenty frame times, the newer weighing more; nil before there was one.
    package var smoothedFramesPerSecond: Double? { state.withLock { $0.smoothed } }

    /// The frames that the link dropped since the meter first noted it.
    public var droppedFrames: Int { state.withLock { $0.droppedFrames } }

    /// A copy of the histogram of the times from one frame to the next.
    public var frameTimes: LatencyHistogram { histogram.copy() }

    /// The hue of the usual label's colour, where 1 is the whole circle: 0 is red, at a fifth of the maximum and below; 0.216
    /// is a yellowish green, at the maximum.
    package var hue: Double {
        let (counted, maximum) = state.withLock { ($0.counted, $0.maximum) }
        let part = min((counted ?? maximum) / maximum, 1)
        return max(0, 0.27 * (part - 0.2))
    }

    /// The rate as text, such as `60 FPS`, with a dash for the number before there is one.
    public var text: String { (framesPerSecond.map { "\(Int($0.rounded()))" } ?? "–") + " FPS" }

    /// The text in its colour, for a terminal with 24 bits of colour (ECMA-48, SGR 38;2).
    public var ansiText: String {
        // In the first third of the circle red turns into green.
        let sixth = hue * 6
        let (red, green) = (min(1, max(0, 2 - sixth)), min(1, sixth))
        return "\u{1b}[38;2;\(Int(red * 230));\(Int(green * 230));0m\(text)\u{1b}[0m"
    }
}
#endif
