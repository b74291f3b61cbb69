// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc

/// A thread's loop of timers, descriptors and blocks: Foundation's `RunLoop`, on the kernel's exact timers.
///
///     let timer = LoopTimer(timeInterval: 0.010, repeats: true) { timer in … }
///     TimerLoop.current.add(timer, forMode: .default)
///     TimerLoop.current.run(until: .now.advanced(by: .seconds(1)))
///
/// Each thread has a loop, made when `current` is first asked for and ended with the thread. Handlers run on that thread,
/// while it is inside one of the `run` functions, one after the other, and with no lock held. Everything else may be called from any thread and
/// wakes the loop if need be: adding, moving and invalidating timers, `perform`, `stop`, `wakeUp`.
///
/// The loop waits in libevent, for one absolute timerfd, which carries the wakes too, and for the descriptors that it was
/// given. With nothing pending there are no wake-ups. It takes four descriptors, however many modes it has, and frees them
/// with its last reference. Where the process has none left, the loop's timers still work, on a futex.
public final class TimerLoop: Sendable {
    let core: LoopCore
    let delayed = Locked(DelayedPerforms())
    let isMain: Bool
    private let owner: Locked<Owner>

    /// The thread that the loop belongs to. A free loop is lent to each thread that runs it; a reserved one waits for the
    /// thread that will claim it.
    private enum Owner: Sendable { case main, thread(pthread_t), reserved, free, lent(pthread_t) }

    private init(owner: Owner, time: TimeBase, waiter: LoopWaiter = LoopWaiter()) {
        self.owner = Locked(owner)
        if case .main = owner { isMain = true } else { isMain = false }
        core = LoopCore(time: time, waiter: waiter)
    }

    /// Creates a loop that is no thread's own.
    ///
    /// While a thread runs it, it is that thread's loop, and its `current`.
    ///
    /// For tests, on a virtual time: such a loop never sleeps, but moves the clock to its next deadline.
    public convenience init(time: TimeBase = .current, precision: TimerPrecision = .coalesced) {
        self.init(owner: .free, time: time)
        self.precision = precision
    }

    /// Creates a loop that is no thread's own, on the kernel's time.
    convenience init(waiter: LoopWaiter) {
        self.init(owner: .free, time: .kernel, waiter: waiter)
    }

    /// The loop of the calling thread, made on first use.
    ///
    /// There always is one, even in an exhausted process. It is `main` on the main thread, and on any thread in a block of the
    /// main queue.
    ///
    /// Not for asynchronous functions, which have no thread of their own.
    @available(
        *,
        noasync,
        message: "use TimerLoop.main, which runs by itself under an async main, or the loop of TimerLoop.thread()"
    )
    public static var current: TimerLoop {
        // A thread of libdispatch's pool that is lent to the main queue may have a loop of its own, which does not run then.
        if let loop = CurrentLoop.value, loop.isRunning || !MainQueue.isCurrent { return loop }
        if MainQueue.isHeld { return main }
        let loop = TimerLoop(owner: .thread(pthread_self()), time: .ofThread)
        CurrentLoop.adopt(loop)
        return loop
    }

    /// The loop of the main thread, for any thread.
    ///
    /// It lives as long as the process.
    ///
    /// While it runs in a common mode it serves libdispatch's main queue, and so the main actor, as Foundation's main loop
    /// does. The queue is one more source, served after the timers of each pass; it keeps `run()` from returning for lack of
    /// anything to do. A run inside one of the queue's blocks does not serve the queue, which is not re-entrant. Costs no
    /// wake-ups.
    ///
    /// The loop belongs to the thread that holds the main queue. In a program with an `async` main, or after
    /// `dispatchMain()`, these are threads of libdispatch's pool, one at a time: there the main queue hosts this loop by
    /// itself, in the default mode, and there is nothing to call.
    public static let main: TimerLoop = {
        let loop = TimerLoop(owner: .main, time: .kernel)
        MainQueue.followMoves()
        return loop
    }()

    /// Whether the calling thread is the one whose loop this is now, whichever loop it runs innermost.
    package var isOnItsThread: Bool { owner.withLock { isHere($0) } }

    private func isHere(_ owner: Owner) -> Bool {
        switch owner {
        case .main: MainQueue.isHeld
        case .thread(let thread), .lent(let thread): isCurrent(thread)
        case .reserved, .free: false
        }
    }

    deinit {
        end()
        // This is the host's thread. Another thread that moves a timer may keep the waiter for a moment more.
        if waiter.isHosted, !core.isInForkedChild { waiter.leaveHost() }
    }

    package var time: TimeBase { core.time }
    var waiter: LoopWaiter { core.waiter }
    var state: Locked<LoopState> {
        @inline(__always) _read { yield core.state }
    }

    var isRunning: Bool { state.withLock { $0.run != nil } }

    /// The present reading of the loop's clock.
    public var now: MonotonicInstant { MonotonicInstant(nanoseconds: time.now_ns) }

    /// The number of timers that the loop holds: added, and neither invalidated nor fired for the last time.
    public var liveTimers: Int { state.withLock { $0.isEnded ? 0 : $0.core.count } }

    /// Ends the loop: releases everything that it holds. It stays empty. Timers become invalid, their handlers are freed.
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
        held.watch?.cancel()
        withExtendedLifetime(held.blocks) {}
        // Only a thread's own loop has local handlers, and such a loop ends on its thread.
        core.locals.removeAll()
    }

    /// Reserves a free loop for the thread that will claim it. No thread can run it before.
    func reserve() {
        owner.withLock { owner in
            if case .free = owner { owner = .reserved }
        }
    }

    /// Makes the loop the calling thread's own for good. Returns false if it belongs to a thread already.
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

    /// Whether the loop is the calling thread's own for good.
    var isOwnedHere: Bool {
        owner.withLock { owner in
            if case .thread(let thread) = owner { return isCurrent(thread) }
            return false
        }
    }

    /// Returns why the queue can never run the loop, or nil if it can.
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

    /// Why the calling thread can never be the one that processes the loop; nil if it is that thread, or may become it.
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
            // A host's thread may be in libevent.
            if case .free = owner, !waiter.isHosted { return body() }
            if isHere(owner) { body() }
        }
    }

    /// Whether `main` is current without being set: on the main thread outside of any other loop. A handler may end that
    /// thread, by `dispatchMain()`, and then the thread must not have a loop to end.
    private var isCurrentByItself: Bool { MainQueue.isMainThread && CurrentLoop.value == nil }

    /// Calls `body` if the calling thread is the loop's own, or can borrow a free loop. Returns nil on every other thread.
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
        // The thread that runs `main` may be in another loop's handler, or have a loop of its own.
        if !isBorrowed { return isMain && !isCurrentByItself ? CurrentLoop.with(self, body) : body() }
        defer { owner.withLock { $0 = .free } }
        return CurrentLoop.with(self, body)
    }
}

/// The calling thread's loop, in a thread-specific value whose destructor ends the loop with the thread.
enum CurrentLoop {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = unsafe pthread_key_create(&key) { context in
            guard let context = unsafe context else { return }
            // Retained by `adopt`.
            let loop = unsafe Unmanaged<TimerLoop>.fromOpaque(context).takeRetainedValue()
            loop.reportTimersNeverRun()
            loop.end()
        }
        precondition(error == 0, "no thread-specific key is left for the loops of threads: pthread_key_create(3)")
        return key
    }()

    static var value: TimerLoop? {
        // Safe: `adopt` retains the loop, and the caller of `with` holds its own.
        unsafe pthread_getspecific(key).map { unsafe Unmanaged<TimerLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    static func adopt(_ loop: TimerLoop) {
        // Safe: released by the key's destructor.
        unsafe pthread_setspecific(key, Unmanaged.passRetained(loop).toOpaque())
    }

    /// Calls `body` with `loop` in the place of the thread's own loop.
    static func with<Result>(_ loop: TimerLoop, _ body: () -> Result) -> Result {
        let before = unsafe pthread_getspecific(key)
        unsafe pthread_setspecific(key, Unmanaged.passUnretained(loop).toOpaque())
        defer { unsafe pthread_setspecific(key, before) }
        return withExtendedLifetime(loop, body)
    }
}
#endif
