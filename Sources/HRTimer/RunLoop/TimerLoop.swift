#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc
import Synchronization

/// A thread's loop of timers, descriptors and blocks: Foundation's `RunLoop`, on the kernel's exact timers.
///
///     let timer = LoopTimer(timeInterval: 0.010, repeats: true) { timer in … }
///     TimerLoop.current.add(timer, forMode: .default)
///     TimerLoop.current.run(until: .now.advanced(by: .seconds(1)))
///
/// Each thread has a loop, made when `current` is first asked for and gone with the thread. Handlers run on that thread,
/// while it is inside one of the `run` functions, and with no lock held. Everything else may be called from any thread and
/// wakes the loop if need be: adding, moving and invalidating timers, `perform`, `stop`, `wakeUp`.
///
/// The loop waits in libevent, on one absolute timerfd, which carries the wakes too, and the descriptors it was given. With
/// nothing pending there are no wake-ups. It takes four descriptors, however many modes it has; where the process has none
/// left its timers work all the same, on a futex. They are freed with the last reference to the loop.
public final class TimerLoop: Sendable {
    let core: LoopCore
    /// Activities that some observer was added for: lets a pass without observers go without the lock.
    let observed = Atomic<UInt32>(0)
    let delayed = Locked(DelayedPerforms())
    let isMain: Bool
    private let owner: Locked<Owner>

    /// Whose loop it is. A free one is lent to whichever thread runs it, a reserved one waits for the thread that will claim
    /// it.
    private enum Owner: Sendable { case main, thread(pthread_t), reserved, free, lent(pthread_t) }

    private init(owner: Owner, time: TimeBase, waiter: LoopWaiter = LoopWaiter()) {
        self.owner = Locked(owner)
        if case .main = owner { isMain = true } else { isMain = false }
        core = LoopCore(time: time, waiter: waiter)
        LoopTimes.add(time)
    }

    /// A loop that is no thread's own: the thread that runs it is its thread while it does, and sees it as `current`.
    ///
    /// For tests, on a virtual time: such a loop never sleeps, it moves the clock to its next deadline instead.
    public convenience init(time: TimeBase = .current, precision: TimerPrecision = .coalesced) {
        self.init(owner: .free, time: time)
        self.precision = precision
    }

    /// Of no thread, on the kernel's time.
    convenience init(waiter: LoopWaiter) {
        self.init(owner: .free, time: .kernel, waiter: waiter)
    }

    /// The loop of the calling thread, made on first use. Never nil, also in an exhausted process. `main` on the main thread,
    /// and in a block of the main queue on whichever thread.
    ///
    /// Not for asynchronous functions, which have no thread of their own.
    @available(*, noasync)
    public static var current: TimerLoop {
        // A thread of libdispatch's pool that is lent to the main queue may have a loop of its own, which does not run then.
        if let loop = CurrentLoop.value, loop.isRunning || !MainQueue.isCurrent { return loop }
        if MainQueue.isHeld { return main }
        let loop = TimerLoop(owner: .thread(pthread_self()), time: .ofThread)
        CurrentLoop.adopt(loop)
        return loop
    }

    /// The loop of the main thread, from any thread. It lives as long as the process.
    ///
    /// While it runs in a common mode it serves libdispatch's main queue, and so the main actor, as Foundation's main loop
    /// does: one more source, after the timers of each pass, that keeps `run()` from returning for want of anything to do. A
    /// run inside one of the queue's blocks does not serve it: it is not re-entrant. Costs no wake-ups.
    ///
    /// It belongs to the thread that holds the main queue. In a program with an `async` main, or after
    /// `dispatchMain()`, these are threads of libdispatch's pool, one at a time: there the main queue hosts this loop
    /// by itself, in the default mode, and there is nothing to call.
    public static let main: TimerLoop = {
        let loop = TimerLoop(owner: .main, time: .kernel)
        MainQueue.followMoves()
        return loop
    }()

    /// Whether the calling thread is the one whose loop this is now.
    var isOnItsThread: Bool { CurrentLoop.value.map { $0 === self } ?? (self === Self.main && MainQueue.isHeld) }

    deinit {
        end()
        // On the host's thread; a timer that another thread moves may keep the waiter for a moment more.
        if waiter.isHosted, !core.isInForkedChild { waiter.leaveHost() }
    }

    var time: TimeBase { core.time }
    var waiter: LoopWaiter { core.waiter }
    var state: Locked<LoopState> {
        @inline(__always) _read { yield core.state }
    }

    var isRunning: Bool { state.withLock { !$0.runs.isEmpty } }

    /// What the loop's clock reads now.
    public var now: MonotonicInstant { MonotonicInstant(nanoseconds: time.now_ns) }

    /// How many timers the loop holds: added, and neither invalidated nor fired for the last time.
    public var liveTimers: Int { state.withLock { $0.isEnded ? 0 : $0.core.count } }

    /// Forgets everything it holds, and stays empty. Timers become invalid, their handlers are freed.
    func end() {
        if core.isInForkedChild { return }
        let held = state.withLock { state in
            state.setEnded()
            state.modes.removeAllMembers()
            return (
                timers: state.core.end(), sources: state.descriptors.removeAll(core.waiter),
                triggers: state.triggers.removeAll(), observers: state.observers.removeAll(),
                blocks: state.performs.removeAll(),
                watch: state.runWatch.take()
            )
        }
        for timer in held.timers.owners { timer.coreHasEnded() }
        held.sources.forEach { $0.invalidate() }
        held.triggers.forEach { $0.invalidate() }
        held.observers.forEach { $0.invalidate() }
        delayed.withLock { $0.removeAll() }
        if let watch = held.watch { RunWatch.engine?.cancel(watch.token) }
        withExtendedLifetime(held.blocks) {}
        // Only a thread's own loop has any, and that ends on its thread.
        core.locals.removeAll()
    }

    /// A free loop becomes that of the thread that claims it, and nobody runs it before.
    func reserve() {
        owner.withLock { owner in
            if case .free = owner { owner = .reserved }
        }
    }

    /// Makes the calling thread the loop's own for good. False if it is another thread's.
    func claim() -> Bool {
        owner.withLock { owner in
            switch owner {
            case .free, .reserved:
                owner = .thread(pthread_self())
                return true
            case .main, .thread, .lent: return false
            }
        }
    }

    /// Whether it is the calling thread's own for good.
    var isOwnedHere: Bool {
        owner.withLock { owner in
            if case .thread(let thread) = owner { return isCurrent(thread) }
            return false
        }
    }

    /// Why no queue can ever run the loop; nil if it can.
    func reasonNotToServe(isOnMainQueue: Bool) -> String? {
        owner.withLock { owner in
            switch owner {
            case .main where !isOnMainQueue: "serve TimerLoop.main, which belongs to the main queue, on another queue"
            case .thread, .reserved:
                "serve the loop of a thread, which runs on that alone, on a queue, which needs one made with TimerLoop()"
            default: nil
            }
        }
    }

    /// Why the calling thread can never be the one that processes the loop; nil if it is, or may be.
    var reasonNotToProcess: String? {
        owner.withLock { owner in
            switch owner {
            case .main where !MainQueue.isHeld:
                "TimerLoop.main belongs to the main queue. Let its host call process() there, or say serve(on: .main)."
            case .thread(let thread) where !isCurrent(thread) && !core.isInForkedChild:
                "a thread's own loop is processed on that thread alone. Make one for the host, with TimerLoop()."
            case .reserved: "this loop is run by its LoopThread. Make one for the host, with TimerLoop()."
            default: nil
            }
        }
    }

    /// Calls `body`, with the owner's lock held, if no other thread can be inside the loop meanwhile.
    func unlessElsewhere(_ body: () -> Void) {
        owner.withLock { owner in
            let isHere =
                switch owner {
                case .main: MainQueue.isHeld
                case .thread(let thread), .lent(let thread): isCurrent(thread)
                // A host's thread may be in libevent.
                case .free: !waiter.isHosted
                case .reserved: false
                }
            if isHere { body() }
        }
    }

    /// `main` on the main thread outside of any other loop. That thread may end in a handler, by `dispatchMain()`, and then
    /// must not have a loop to end.
    private var isCurrentByItself: Bool { MainQueue.isMainThread && CurrentLoop.value == nil }

    /// Calls `body` on the loop's own thread; nil on every other.
    func onOwnThread<Result>(_ body: () -> Result) -> Result? {
        let isBorrowed: Bool? = owner.withLock { owner in
            switch owner {
            case .main: return MainQueue.isHeld ? false : nil
            case .thread(let thread), .lent(let thread): return isCurrent(thread) ? false : nil
            case .free:
                owner = .lent(pthread_self())
                return true
            case .reserved: return nil
            }
        }
        guard let isBorrowed else { return nil }
        // Who runs `main` may be in another loop's handler, or a thread with a loop of its own.
        if !isBorrowed { return isMain && !isCurrentByItself ? CurrentLoop.with(self, body) : body() }
        defer { owner.withLock { $0 = .free } }
        return CurrentLoop.with(self, body)
    }
}

/// The calling thread's loop, in a thread-specific value whose destructor ends the loop with the thread.
enum CurrentLoop {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key) { context in
            guard let context else { return }
            // Retained by `adopt`.
            let loop = Unmanaged<TimerLoop>.fromOpaque(context).takeRetainedValue()
            loop.reportTimersNeverRun()
            loop.end()
        }
        precondition(error == 0, "no thread-specific key is left for the loops of threads: pthread_key_create(3)")
        return key
    }()

    static var value: TimerLoop? {
        pthread_getspecific(key).map { Unmanaged<TimerLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    static func adopt(_ loop: TimerLoop) {
        // Released by the key's destructor.
        pthread_setspecific(key, Unmanaged.passRetained(loop).toOpaque())
    }

    /// Calls `body` with `loop` in the place of the thread's own loop.
    static func with<Result>(_ loop: TimerLoop, _ body: () -> Result) -> Result {
        let before = pthread_getspecific(key)
        pthread_setspecific(key, Unmanaged.passUnretained(loop).toOpaque())
        defer { pthread_setspecific(key, before) }
        return withExtendedLifetime(loop, body)
    }
}
#endif
