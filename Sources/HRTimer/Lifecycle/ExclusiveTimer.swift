#if os(Linux)
public import HRTimerCore

/// A timer for a start button: however often it is started, only one timer runs, and one stop ends it.
///
///     let stopwatch = ExclusiveTimer(interval: .seconds(1)) { _ in showTime() }
///     stopwatch.start()   // three times: still one call a second
///     stopwatch.stop()
///
/// A start that finds no timer running makes a `LoopTimer`; see there for clock, intervals and policies. The last reference
/// to this object stops the timer when it goes. Any thread.
public final class ExclusiveTimer: Sendable {
    private let loop: TimerLoop
    private let mode: TimerLoop.Mode
    private let make: @Sendable () -> LoopTimer
    private let timer = Locked<LoopTimer?>(nil)

    /// Creates a timer that does not run yet.
    ///
    /// It fires in `loop`, which it holds for its whole life, while that runs in `mode`; in `.common` it goes on while a user
    /// drags.
    public init(
        interval: some TimeSpan,
        repeats: Bool = true,
        policy: MissedTickPolicy = .mergeToGrid,
        tolerance: some TimeSpan = Duration.zero,
        loop: TimerLoop,
        mode: TimerLoop.Mode = .common,
        @_inheritActorContext handler: @escaping LoopTimer.Block
    ) {
        self.loop = loop
        self.mode = mode
        make = {
            LoopTimer(timeInterval: interval, repeats: repeats, policy: policy, tolerance: tolerance, block: handler)
        }
    }

    /// Creates a timer that does not run yet, on the calling thread's loop.
    @available(
        *,
        noasync,
        message: "pass loop: TimerLoop.main, which runs by itself under an async main, or that of TimerLoop.thread()"
    )
    public convenience init(
        interval: some TimeSpan,
        repeats: Bool = true,
        policy: MissedTickPolicy = .mergeToGrid,
        tolerance: some TimeSpan = Duration.zero,
        mode: TimerLoop.Mode = .common,
        @_inheritActorContext handler: @escaping LoopTimer.Block
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

    /// Makes it fire one interval from now, and so on. Returns true if it did not run; otherwise everything stays as it is.
    @discardableResult
    public func start() -> Bool {
        let new = make()
        // A timer's own lock may be taken under this one. The replaced timer is released when this lock is not held any more.
        let (isStarted, _) = timer.withLock { timer -> (Bool, LoopTimer?) in
            if timer?.isValid ?? false { return (false, nil) }
            defer { timer = new }
            return (true, timer)
        }
        // If it was stopped meanwhile, the timer is invalid and the loop refuses it.
        if isStarted { loop.add(new, forMode: mode) }
        return isStarted
    }

    /// Makes it fire one interval from now, even if it runs: for work to be done after nothing has happened for that long.
    public func restart() {
        stop()
        start()
    }

    /// Stops the timer. It may be started again, unlike objects that are invalidated or cancelled. On the loop's own thread
    /// no call comes after this; on other threads a call that has begun goes on. Idempotent.
    public func stop() {
        timer.withLock { $0.take() }?.invalidate()
    }
}
#endif
