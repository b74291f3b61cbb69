#if os(Linux)
public import HRTimerCore

/// A timer behind a start button: however often it is started, there is one, and one stop ends it.
///
///     let stopwatch = ExclusiveTimer(interval: .seconds(1)) { _ in showTime() }
///     stopwatch.start()   // three times: still one call a second
///     stopwatch.stop()
///
/// Every start that finds none running makes a `LoopTimer`; see there for clock, intervals and policies. It is stopped
/// with its last reference. Any thread.
public final class ExclusiveTimer: Sendable {
    private let loop: TimerLoop
    private let mode: TimerLoop.Mode
    private let make: @Sendable () -> LoopTimer
    private let timer = Locked<LoopTimer?>(nil)

    /// A timer that does not run yet.
    ///
    /// It fires in `loop`, which it holds as long as it lives, when that runs in `mode`; `.common` goes on while a user drags.
    public init(
        interval: some TimeSpan,
        repeats: Bool = true,
        policy: MissedTickPolicy = .mergeToGrid,
        tolerance: some TimeSpan = Duration.zero,
        loop: TimerLoop,
        mode: TimerLoop.Mode = .common,
        handler: @escaping LoopTimer.Block
    ) {
        self.loop = loop
        self.mode = mode
        make = {
            LoopTimer(timeInterval: interval, repeats: repeats, policy: policy, tolerance: tolerance, block: handler)
        }
    }

    /// The same on the calling thread's loop.
    @available(*, noasync)
    public convenience init(
        interval: some TimeSpan,
        repeats: Bool = true,
        policy: MissedTickPolicy = .mergeToGrid,
        tolerance: some TimeSpan = Duration.zero,
        mode: TimerLoop.Mode = .common,
        handler: @escaping LoopTimer.Block
    ) {
        self.init(
            interval: interval,
            repeats: repeats,
            policy: policy,
            tolerance: tolerance,
            loop: .current,
            mode: mode,
            handler: handler
        )
    }

    deinit {
        stop()
    }

    /// Whether it will fire: started, and neither stopped, nor invalidated by its handler, nor fired if it does not
    /// repeat.
    public var isRunning: Bool { timer.withLock { $0 }?.isValid ?? false }

    /// Has it fire one interval from now, and so on. True if it did not run: otherwise everything stays as it is.
    @discardableResult
    public func start() -> Bool {
        let new = make()
        // A timer's own lock may be taken under this one; the replaced timer is released without it.
        let (isStarted, _) = timer.withLock { timer -> (Bool, LoopTimer?) in
            if timer?.isValid ?? false { return (false, nil) }
            defer { timer = new }
            return (true, timer)
        }
        // Not if it was stopped meanwhile: the loop refuses an invalid timer.
        if isStarted { loop.add(new, forMode: mode) }
        return isStarted
    }

    /// Has it fire one interval from now, also if it runs: for work to be done after nothing has happened for so long.
    public func restart() {
        stop()
        start()
    }

    /// Ends what `start()` began. It may be started again, unlike objects that are invalidated or cancelled. On the
    /// loop's own thread no call comes after this; on others a call that has begun goes on. Idempotent.
    public func stop() {
        timer.withLock { $0.take() }?.invalidate()
    }
}
#endif
