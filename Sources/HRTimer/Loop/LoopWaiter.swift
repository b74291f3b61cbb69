// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRLoop
import HRTimerCore
import HRTimerLibc
import Synchronization

/// The owner of an `hrt_loop`: one thread waits in it, and any thread may wake that one.
///
/// If there is no `hrt_loop`, because the process has no descriptors left, the thread waits on a futex instead: timers still
/// work, but descriptors cannot be watched.
@safe final class LoopWaiter: @unchecked Sendable {
    // Sendable: the pointer is constant, hrt_loop_wake and hrt_loop_is_woken are thread-safe, and everything else is
    // called by the one thread that runs the loop. Safe: the `hrt_loop` lives as long as this object, and nobody else has its address.
    @safe private let loop: OpaquePointer?
    private let futex: Waiter?
    private let isFutexWoken = Atomic(false)
    /// The spin window, made by the first precise wait. Only the loop's thread uses it.
    private(set) var window: SpinWindow?
    /// A copy of the reference in `window`, for other threads.
    let shownWindow = Locked<SpinWindow?>(nil)
    /// The share that the budget of `window` was made with; nil for a shared budget.
    private var share: Double?
    /// The number of calls of `wake()`, and the time spun in ns.
    private let wakes = Atomic<UInt64>(0)
    private let spun = Atomic<Int64>(0)
    /// Whether this is a loop on a host's `event_base`, which does the waiting.
    let isHosted: Bool
    /// Whether an edge may be unreported. Only the loop's thread uses it. Most loops have no edges, and their passes then
    /// take no lock for them.
    var mayHaveEdges = false
    /// The bound on the wake latency that the thread holds while a precise timer is due soon. Only the loop's thread uses it.
    var wakeLatency: WakeLatency?
    /// The number of times that the descriptors were looked at. Only the loop's thread uses it.
    private(set) var looks = 0
    /// Why there is no `hrt_loop`; nil if there is one.
    let failure: TimerError?

    struct Found: OptionSet {
        let rawValue: Int32
        static let woken = Found(rawValue: Int32(HRT_LOOP_WOKEN))
        static let ready = Found(rawValue: Int32(HRT_LOOP_READY))
    }

    init() {
        var loop: OpaquePointer?
        let status = unsafe hrt_loop_create(&loop)
        self.loop = unsafe loop
        isHosted = false
        failure = status == 0 ? nil : TimerError(operation: "make an event loop", errorNumber: -status)
        // A futex needs no descriptor: this fails only where not even a lock can wait.
        futex = status == 0 ? nil : try? Waiter(.futex)
    }

    /// Creates a loop on the host's `event_base`. Safe if the base lives as long as the loop is on it.
    init(eventBase: OpaquePointer) throws(TimerError) {
        var loop: OpaquePointer?
        try unsafe check(hrt_loop_create_on(eventBase, &loop), "put a loop on an event base")
        self.loop = unsafe loop
        isHosted = true
        failure = nil
        futex = nil
    }

    /// Makes the host's base call `body` with `context`, on the base's thread, whenever there is something to do.
    func setHost(_ context: UnsafeMutableRawPointer, _ body: @convention(c) (UnsafeMutableRawPointer?) -> Void) {
        if let loop { unsafe hrt_loop_set_host(loop, body, context) }
    }

    /// Removes the loop's events from the host's base. Must be called on the host's thread.
    func leaveHost() {
        if let loop { unsafe hrt_loop_leave_host(loop) }
    }

    deinit {
        if let loop { unsafe hrt_loop_destroy(loop) }
    }

    /// Notes that the calling thread begins to run the loop, which then goes by that thread's timer slack.
    func enter() {
        if let loop, !isHosted { unsafe hrt_loop_enter(loop) }
    }

    /// Waits for the deadline, a wake or a ready descriptor. Returns an empty set when the deadline has come; `Int64.max` is
    /// no deadline.
    func wait(until deadline_ns: Int64) -> Found {
        looks &+= 1
        if let loop { return unsafe Found(rawValue: hrt_loop_wait(loop, deadline_ns)) }
        let isWoken = futex?.wait(until: deadline_ns) ?? false
        isFutexWoken.store(false, ordering: .relaxed)
        return isWoken ? .woken : []
    }

    /// Waits as `wait(until:)` does, but wakes a spin window before the deadline, calls `prepare`, and then spins. If
    /// `prepare` returns true, the last part of the spin is left to the prepared call. Returns the last reading of the clock
    /// if the spin reached its end; always nil on a futex.
    func wait(
        until deadline_ns: Int64,
        spinBudget: Double?,
        prepare: () -> Bool
    ) -> (found: Found, now_ns: Int64?) {
        let window = spinWindow(spinBudget, .kernel)
        window.noteUse()
        looks &+= 1
        guard let loop else { return (waitOnFutex(until: deadline_ns, window, prepare), nil) }
        let found = unsafe hrt_loop_wait_until_spin_window(loop, deadline_ns, window.c)
        if found != 0 { return (Found(rawValue: found), nil) }
        let until_ns = prepare() ? deadline_ns - Fire.lastSpin_ns : deadline_ns
        var now_ns: Int64 = 0
        var spun_ns: Int64 = 0
        let ending = unsafe Found(rawValue: hrt_loop_spin(loop, until_ns, window.c, &now_ns, &spun_ns))
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

    /// Does a precise wait on a clock other than the kernel's. `wait` waits for an instant of that clock.
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
        // Without a deadline there is only one wait and no spin window.
        let window_ns = unsafe deadline_ns < .max ? hrt_spin_window_ns(window.c, length_ns, begin_ns) : 0
        let wake_ns = deadline_ns.subtractingSaturating(window_ns)
        if wake_ns > begin_ns {
            let found = wait(wake_ns)
            if !found.isEmpty || time.now_ns < wake_ns { return (found, nil) }
            unsafe hrt_spin_window_record_wake(window.c, length_ns, time.now_ns.subtractingSaturating(wake_ns))
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

    /// Adds to the time spun. Only the loop's thread writes it, so a load and a store do; an exchange would take longer.
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

    /// Arms the loop for a deadline without waiting. Must be called on the loop's thread. Does nothing on a futex.
    func arm(_ deadline_ns: Int64) {
        if let loop { unsafe hrt_loop_arm(loop, deadline_ns) }
    }

    func descriptor() throws(TimerError) -> Int32 {
        if let failure { throw failure }
        guard let loop else { return -1 }
        let descriptor = unsafe hrt_loop_descriptor(loop)
        try check(descriptor, "find the descriptor of an event loop")
        return descriptor
    }

    func poll() -> Found {
        looks &+= 1
        if let loop { return unsafe Found(rawValue: hrt_loop_poll(loop)) }
        return isFutexWoken.load(ordering: .relaxed) ? wait(until: .min) : []
    }

    var wakesSent: UInt64 { wakes.load(ordering: .relaxed) }
    var spun_ns: Int64 { spun.load(ordering: .relaxed) }

    func wake() {
        wakes.wrappingAdd(1, ordering: .relaxed)
        if let loop { return unsafe hrt_loop_wake(loop) }
        isFutexWoken.store(true, ordering: .relaxed)
        futex?.wake()
    }

    /// Watches the descriptor of `source`. Must be called on the loop's thread. Returns nil if the kernel refuses.
    func watch(_ source: LoopSource, tag: UInt64) -> WatchedDescriptors.Watch? {
        var events = source.events.rawValue
        if source.triggering == .edge { events |= UInt32(HRT_EDGE) }
        return watch(source.descriptor, events, tag: tag)
    }

    /// Watches `descriptor` for `events`. Must be called on the loop's thread. Returns nil if the kernel refuses.
    func watch(_ descriptor: Int32, _ events: UInt32, tag: UInt64) -> WatchedDescriptors.Watch? {
        guard let loop else { return nil }
        var watch: OpaquePointer?
        let status = unsafe hrt_loop_watch(loop, descriptor, events, tag, &watch)
        return unsafe status == 0 ? watch.map(WatchedDescriptors.Watch.init) : nil
    }

    /// Ends a watch. Must be called on the loop's thread. Safe: it is called once for each watch, before the loop ends.
    func unwatch(_ watch: WatchedDescriptors.Watch) {
        if let loop { unsafe hrt_loop_unwatch(loop, watch.address) }
    }

    /// Returns those of `events` for which the descriptor is ready now, without waiting. `poll(2)`.
    func look(at descriptor: Int32, for events: LoopSource.Events) -> LoopSource.Events {
        var asked = pollfd(fd: descriptor, events: 0, revents: 0)
        if events.contains(.readable) { asked.events |= Int16(POLLIN) }
        if events.contains(.writable) { asked.events |= Int16(POLLOUT) }
        // A signal does not interrupt a call that does not wait.
        guard unsafe HRTimerLibc.poll(&asked, 1, 0) == 1, asked.revents & Int16(POLLNVAL) == 0 else { return [] }
        var found: LoopSource.Events = []
        let ended = asked.revents & Int16(POLLHUP | POLLERR) != 0
        if ended || asked.revents & Int16(POLLIN) != 0 { found.insert(.readable) }
        if ended || asked.revents & Int16(POLLOUT) != 0 { found.insert(.writable) }
        return found.intersection(events)
    }

    /// Returns what the last wait or poll found. A copy, since handlers may run the loop. Safe: the C core's array stays as
    /// it is until the next wait.
    func takeReady() -> [hrt_ready] {
        guard let loop else { return [] }
        var first: UnsafePointer<hrt_ready>?
        let count = unsafe hrt_loop_take_ready(loop, &first)
        return unsafe count == 0 ? [] : Array(UnsafeBufferPointer(start: first, count: count))
    }

    var isWoken: Bool {
        if let loop { return unsafe hrt_loop_is_woken(loop) != 0 }
        return isFutexWoken.load(ordering: .relaxed)
    }
}

extension LoopWaiter: VirtualWaiter {
    /// Polls as the loop's thread would. Another thread may call this while the loop's thread is blocked.
    func look() -> VirtualWait.Found? {
        let found = poll()
        return found.isEmpty ? nil : .init(isWoken: found.contains(.woken), isReady: found.contains(.ready))
    }
}
#endif
