#if os(Linux)
public import HRTimerCore

/// A timer that turns the pages of a carousel, rests while the user drags, and goes on some time after that.
///
///     let carousel = AutoAdvance(every: .seconds(3), resumingAfter: .seconds(2), loop: .main) { showNextPage() }
///
/// The timer rests while the loop runs in a tracking mode, and the time waited before that does not count: the first call
/// comes `resumingAfter` after the tracking ended, and then one every interval. Runs of a tracking mode that follow each
/// other sooner than that are one drag. A program that tracks by other means calls `rest()` and `resume()`.
///
/// It fires in `.default`, on the loop's thread and on `CLOCK_MONOTONIC`, and merges missed calls into one. It ends with
/// `invalidate()` or with its last reference; it holds the loop. Any thread.
public final class AutoAdvance: Sendable {
    private let timer: LoopTimer
    private let observer: LoopObserver
    private let loop: TimerLoop
    private let delay: Duration

    /// Begins at once: the first call is one interval from now. An interval of zero or less counts as 0.1 ms, a delay below
    /// zero as zero. If `mode` is nil, the tracking modes are `.tracking` and `.eventTracking`. A closure in a global actor's
    /// code belongs to that actor, and is called there; see `LoopTimer.Block`.
    public init(
        every interval: some TimeSpan,
        resumingAfter delay: some TimeSpan = Duration.seconds(2),
        tracking mode: TimerLoop.Mode? = nil,
        loop: TimerLoop,
        @_inheritActorContext advance: @escaping @isolated(any) @Sendable () -> Void
    ) {
        let delay = delay.asDuration ?? .zero
        let advance = onItsActor(merges: true, advance)
        let timer = LoopTimer(timeInterval: interval, repeats: true) { _ in advance() }
        observer = LoopObserver(activities: [.entry, .exit]) { [weak loop] _, activity in
            guard let loop else { return }
            timer.fireInstant = activity == .entry ? .distantFuture : loop.now.advanced(by: delay)
        }
        self.timer = timer
        self.loop = loop
        self.delay = delay
        for mode in mode.map({ [$0] }) ?? [.tracking, .eventTracking] { loop.add(observer, forMode: mode) }
        loop.add(timer, forMode: .default)
    }

    deinit {
        invalidate()
    }

    /// Makes no call until `resume()`, or until tracking ends.
    public func rest() {
        timer.fireInstant = .distantFuture
    }

    /// Makes the next call `resumingAfter` from now, and then one every interval.
    public func resume() {
        timer.fireInstant = loop.now.advanced(by: delay)
    }

    /// Whether it waits for tracking to end, or for `resume()`.
    public var isResting: Bool { timer.isValid && timer.fireInstant == .distantFuture }

    /// Ends it and frees the handler. On the loop's own thread no call comes after this. Idempotent.
    public func invalidate() {
        timer.invalidate()
        observer.invalidate()
    }
}
#endif
