#if os(Linux)
import CHRTimer
import HRTimerCore
import HRTimerLibc
import Synchronization

/// Owner of a `hrt_loop`. One thread waits, any thread wakes.
///
/// Where the process has no descriptors left it waits on a futex instead: timers go on, descriptors cannot be watched.
final class LoopWaiter: @unchecked Sendable {
    // Sendable: the pointer is constant, hrt_loop_wake and hrt_loop_is_woken are thread-safe, and everything else is
    // called by the one thread that runs the loop.
    private let loop: OpaquePointer?
    private let futex: Waiter?
    private let isFutexWoken = Atomic(false)
    /// Made by the first precise wait. The loop's thread alone.
    private(set) var window: SpinWindow?
    /// The same for other threads.
    let shownWindow = Locked<SpinWindow?>(nil)
    /// What the window's budget was made of.
    private var share: Double?
    /// How often it was woken, and how long it has spun.
    private let wakes = Atomic<UInt64>(0)
    private let spun = Atomic<Int64>(0)
    /// Another event loop waits for this one.
    let isHosted: Bool
    /// Some edge may wait to be reported. The loop's thread alone: most loops have none, and then a pass takes no lock
    /// for them.
    var mayHaveEdges = false
    /// To be held while a precise timer is due soon. The loop's thread alone.
    var wakeLatency: WakeLatency?
    /// How often the descriptors were looked at. The loop's thread alone.
    private(set) var looks = 0
    /// Why there is no `hrt_loop`.
    let failure: TimerError?

    struct Found: OptionSet {
        let rawValue: Int32
        static let woken = Found(rawValue: Int32(HRT_LOOP_WOKEN))
        static let ready = Found(rawValue: Int32(HRT_LOOP_READY))
    }

    init() {
        var loop: OpaquePointer?
        let status = hrt_loop_create(&loop)
        self.loop = loop
        isHosted = false
        failure = status == 0 ? nil : TimerError(operation: "make an event loop", errorNumber: -status)
        // A futex needs no descriptor: this cannot fail, but where not even a lock can wait.
        futex = status == 0 ? nil : try? Waiter(.futex)
    }

    /// On the host's `event_base`.
    init(eventBase: OpaquePointer) throws(TimerError) {
        var loop: OpaquePointer?
        try check(hrt_loop_create_on(eventBase, &loop), "put a loop on an event base")
        self.loop = loop
        isHosted = true
        failure = nil
        futex = nil
    }

    /// Has the host's base call `body` with `context`, on its thread, when there is something to do.
    func setHost(_ context: UnsafeMutableRawPointer, _ body: @convention(c) (UnsafeMutableRawPointer?) -> Void) {
        if let loop { hrt_loop_set_host(loop, body, context) }
    }

    /// The host's thread.
    func leaveHost() {
        if let loop { hrt_loop_leave_host(loop) }
    }

    deinit {
        if let loop { hrt_loop_destroy(loop) }
    }

    /// The calling thread begins to run the loop.
    func enter() {
        if let loop, !isHosted { hrt_loop_enter(loop) }
    }

    /// Empty when `deadline_ns` has come. `Int64.max` has no deadline.
    func wait(until deadline_ns: Int64) -> Found {
        looks &+= 1
        if let loop { return Found(rawValue: hrt_loop_wait(loop, deadline_ns)) }
        let isWoken = futex?.wait(until: deadline_ns) ?? false
        isFutexWoken.store(false, ordering: .relaxed)
        return isWoken ? .woken : []
    }

    /// The same, but awake a spin window before the deadline, when `prepare` is called, and then spinning: up to which reading of
    /// the clock, if that was the end of it. The end of a spin is left to a call that is prepared.
    func wait(
        until deadline_ns: Int64,
        spinBudget: Double?,
        prepare: () -> Bool
    ) -> (found: Found, now_ns: Int64?) {
        let window = spinWindow(spinBudget, .kernel)
        window.noteUse()
        looks &+= 1
        guard let loop else { return (waitOnFutex(until: deadline_ns, window, prepare), nil) }
        let found = hrt_loop_wait_until_spin_window(loop, deadline_ns, window.c)
        if found != 0 { return (Found(rawValue: found), nil) }
        let until_ns = prepare() ? deadline_ns - Fire.lastSpin_ns : deadline_ns
        var now_ns: Int64 = 0
        var spun_ns: Int64 = 0
        let ending = Found(rawValue: hrt_loop_spin(loop, until_ns, window.c, &now_ns, &spun_ns))
        if ending.isEmpty, now_ns < deadline_ns {
            window.budget.spend(deadline_ns - now_ns)
            spun_ns += deadline_ns - now_ns
        }
        addSpun(spun_ns)
        return (ending, ending.isEmpty ? now_ns : nil)
    }

    private func spinWindow(_ share: Double?, _ time: TimeBase) -> SpinWindow {
        if let window, share == self.share { return window }
        let made = SpinWindow(budget: .of(share, time))
        (window, self.share) = (made, share)
        shownWindow.withLock { $0 = made }
        return made
    }

    /// The same where another clock than the kernel's is waited for, by `wait`.
    func wait(
        until deadline_ns: Int64,
        spinBudget: Double?,
        on time: TimeBase,
        _ wait: (_ instant_ns: Int64) -> Found,
        prepare: () -> Bool
    ) -> (found: Found, now_ns: Int64?) {
        let begin_ns = time.now_ns
        let window = spinWindow(spinBudget, time)
        let length_ns = deadline_ns.subtractingSaturating(begin_ns)
        // What never comes is waited for in one piece.
        let window_ns = deadline_ns < .max ? hrt_spin_window_ns(window.c, length_ns, begin_ns) : 0
        let wake_ns = deadline_ns.subtractingSaturating(window_ns)
        if wake_ns > begin_ns {
            let found = wait(wake_ns)
            if !found.isEmpty || time.now_ns < wake_ns { return (found, nil) }
            hrt_spin_window_record_wake(window.c, length_ns, time.now_ns.subtractingSaturating(wake_ns))
        }
        _ = prepare()
        let woken_ns = time.now_ns
        var found: Found = []
        while found.isEmpty, time.now_ns < deadline_ns { found = wait(deadline_ns) }
        let now_ns = time.now_ns
        let spun_ns = min(now_ns, deadline_ns).subtractingSaturating(min(woken_ns, deadline_ns))
        window.budget.spend(spun_ns)
        addSpun(spun_ns)
        return (found, found.isEmpty ? now_ns : nil)
    }

    /// The loop's thread, which alone writes it: without an exchange, which takes longer.
    private func addSpun(_ spun_ns: Int64) {
        spun.store(spun.load(ordering: .relaxed) &+ spun_ns, ordering: .relaxed)
    }

    private func waitOnFutex(until deadline_ns: Int64, _ window: SpinWindow, _ prepare: () -> Bool) -> Found {
        guard let futex else { return [] }
        var isWoken = futex.waitToSpinWindow(before: deadline_ns, window)
        if !isWoken {
            _ = prepare()
            let spin = futex.spin(until: deadline_ns, window)
            isWoken = spin.isWoken
            addSpun(spin.spun_ns)
        }
        isFutexWoken.store(false, ordering: .relaxed)
        return isWoken ? .woken : []
    }

    /// The loop's thread; nothing to a futex.
    func arm(_ deadline_ns: Int64) {
        if let loop { hrt_loop_arm(loop, deadline_ns) }
    }

    func descriptor() throws(TimerError) -> Int32 {
        if let failure { throw failure }
        guard let loop else { return -1 }
        let descriptor = hrt_loop_descriptor(loop)
        try check(descriptor, "find the descriptor of an event loop")
        return descriptor
    }

    func poll() -> Found {
        looks &+= 1
        if let loop { return Found(rawValue: hrt_loop_poll(loop)) }
        return isFutexWoken.load(ordering: .relaxed) ? wait(until: .min) : []
    }

    var wakesSent: UInt64 { wakes.load(ordering: .relaxed) }
    var spun_ns: Int64 { spun.load(ordering: .relaxed) }

    func wake() {
        wakes.wrappingAdd(1, ordering: .relaxed)
        if let loop { return hrt_loop_wake(loop) }
        isFutexWoken.store(true, ordering: .relaxed)
        futex?.wake()
    }

    /// The loop's thread; nil if the kernel refuses.
    func watch(_ source: LoopSource, tag: UInt64) -> WatchedDescriptors.Watch? {
        var events = source.events.rawValue
        if source.triggering == .edge { events |= UInt32(HRT_EDGE) }
        return watch(source.descriptor, events, tag: tag)
    }

    /// The loop's thread; nil if the kernel refuses.
    func watch(_ descriptor: Int32, _ events: UInt32, tag: UInt64) -> WatchedDescriptors.Watch? {
        guard let loop else { return nil }
        var watch: OpaquePointer?
        let status = hrt_loop_watch(loop, descriptor, events, tag, &watch)
        return status == 0 ? watch.map(WatchedDescriptors.Watch.init) : nil
    }

    /// The loop's thread.
    func unwatch(_ watch: WatchedDescriptors.Watch) {
        if let loop { hrt_loop_unwatch(loop, watch.address) }
    }

    /// Whether the descriptor is ready now, without waiting: for which of the events. `poll(2)`.
    func look(at descriptor: Int32, for events: LoopSource.Events) -> LoopSource.Events {
        var asked = pollfd(fd: descriptor, events: 0, revents: 0)
        if events.contains(.readable) { asked.events |= Int16(POLLIN) }
        if events.contains(.writable) { asked.events |= Int16(POLLOUT) }
        // A signal does not interrupt a call that does not wait.
        guard HRTimerLibc.poll(&asked, 1, 0) == 1, asked.revents & Int16(POLLNVAL) == 0 else { return [] }
        var found: LoopSource.Events = []
        let ended = asked.revents & Int16(POLLHUP | POLLERR) != 0
        if ended || asked.revents & Int16(POLLIN) != 0 { found.insert(.readable) }
        if ended || asked.revents & Int16(POLLOUT) != 0 { found.insert(.writable) }
        return found.intersection(events)
    }

    /// What the last wait or poll found. A copy: handlers may run the loop.
    func takeReady() -> [hrt_ready] {
        guard let loop else { return [] }
        var first: UnsafePointer<hrt_ready>?
        let count = hrt_loop_take_ready(loop, &first)
        return count == 0 ? [] : Array(UnsafeBufferPointer(start: first, count: count))
    }

    var isWoken: Bool {
        if let loop { return hrt_loop_is_woken(loop) != 0 }
        return isFutexWoken.load(ordering: .relaxed)
    }
}

extension LoopWaiter: VirtualWaiter {
    /// As if by the loop's thread, which is blocked meanwhile.
    func look() -> VirtualWait.Found? {
        let found = poll()
        return found.isEmpty ? nil : .init(isWoken: found.contains(.woken), isReady: found.contains(.ready))
    }
}
#endif
