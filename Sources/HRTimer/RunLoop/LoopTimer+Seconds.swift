public import HRTimerCore

/// Foundation's spellings: a time interval is a `Double` of seconds.
extension LoopTimer {
    /// As `init(timeInterval:repeats:policy:userInfo:block:)` with seconds. NaN makes an invalid timer; infinity, and
    /// anything beyond 292 years, one that never fires.
    public convenience init(
        timeInterval: Double,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        userInfo: (any Sendable)? = nil,
        time: TimeBase = .current,
        block: @escaping Block
    ) {
        if let interval = Duration(roundingUpSeconds: timeInterval) {
            self.init(
                timeInterval: interval,
                repeats: repeats,
                policy: policy,
                userInfo: userInfo,
                time: time,
                block: block
            )
        } else {
            self.init(invalidWithPolicy: policy)
        }
    }

    /// A timer in the default mode of the calling thread's loop.
    @available(*, noasync)
    @discardableResult
    public static func scheduled(
        timeInterval: Double,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        userInfo: (any Sendable)? = nil,
        block: @escaping Block
    ) -> LoopTimer {
        schedule(.init(timeInterval: timeInterval, repeats: repeats, policy: policy, userInfo: userInfo, block: block))
    }

    /// As `init(timeInterval:target:action:userInfo:repeats:)` with seconds; the timer holds the target.
    public convenience init<Target: AnyObject & Sendable>(
        timeInterval: Double,
        target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(target, action)
        self.init(timeInterval: timeInterval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// The same without holding the target.
    public convenience init<Target: AnyObject & Sendable>(
        timeInterval: Double,
        weakTarget target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(weakly: target, action)
        self.init(timeInterval: timeInterval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// The interval in seconds, 0 for a timer that does not repeat.
    public var timeInterval: Double { Double(withState { $0.repetition.interval_ns }) / 1e9 }

    convenience init(invalidWithPolicy policy: MissedTickPolicy) {
        let never = Repetition(every: nil, policy: policy)
        self.init(deadline_ns: .max, origin: .settled, repetition: never, userInfo: nil, handler: nil)
    }
}
