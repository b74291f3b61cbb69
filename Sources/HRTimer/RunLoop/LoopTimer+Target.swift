import HRTimerCore

extension LoopTimer {
    /// A timer that calls a method of `target`, given as `Target.method`. It holds the target until it is invalid, as
    /// `NSTimer` does.
    public convenience init<Target: AnyObject & Sendable>(
        timeInterval: Duration,
        target: Target,
        action: @escaping @Sendable (Target) -> (LoopTimer) -> Void,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        self.init(timeInterval: timeInterval, repeats: repeats, userInfo: userInfo) { timer in action(target)(timer) }
    }

    /// A timer that calls a method of `target` without holding it. When the target is gone the timer invalidates itself, at
    /// its next deadline.
    public convenience init<Target: AnyObject & Sendable>(
        timeInterval: Duration,
        weakTarget target: Target,
        action: @escaping @Sendable (Target) -> (LoopTimer) -> Void,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        self.init(timeInterval: timeInterval, repeats: repeats, userInfo: userInfo) { [weak target] timer in
            guard let target else {
                timer.invalidate()
                return
            }
            action(target)(timer)
        }
    }
}
