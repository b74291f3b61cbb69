// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
// All differences between virtual time and the kernel's. Each is decided in this file and nowhere else: engines, loops and
// faces ask the questions below, and never ask whether time is virtual (`make lint`).

import Synchronization

/// The identity of a time: the kernel's or one of the virtual ones. Valid as long as somebody holds that time.
package struct TimeID: Hashable, Sendable {
    private let virtual: ObjectIdentifier?

    fileprivate init(_ virtual: (any VirtualTime)?) {
        self.virtual = virtual.map { ObjectIdentifier($0) }
    }

    package var isVirtual: Bool { virtual != nil }
}

extension TimeBase {
    package var id: TimeID { TimeID(virtual) }

    /// Returns whether both read clocks of the same time, whichever clocks these are.
    package func isSame(as other: TimeBase) -> Bool { virtual === other.virtual }

    /// The virtual time that the calling thread belongs to exclusively, for the thread's own loop; the kernel's time on all
    /// other threads.
    package static var ofThread: TimeBase {
        TimeBase(virtual: CurrentTime.virtual.flatMap { $0.ownsThread ? $0 : nil })
    }

    /// A reference to this time that does not keep a virtual time alive; nil for the kernel's time, which always exists.
    package var weakly: WeakTimeBase? { virtual.map(WeakTimeBase.init) }
}

/// A weak reference to a virtual time.
package struct WeakTimeBase: Sendable {
    private weak let virtual: (any VirtualTime)?

    fileprivate init(_ virtual: any VirtualTime) {
        self.virtual = virtual
    }

    package var time: TimeBase? { virtual.map { TimeBase(virtual: $0) } }
}

// Threads. A virtual time runs one piece of work after the other.
extension TimeBase {
    /// Has a virtual time run the participant, which it holds weakly, and calls `here` to begin. On the kernel's time,
    /// calls `start`, which starts a thread for the participant.
    package func run<Failure: Error>(
        _ participant: any VirtualTimeParticipant,
        here: () -> Void,
        onThread start: () throws(Failure) -> Void
    ) throws(Failure) {
        guard let virtual else { return try start() }
        virtual.attach(participant)
        here()
    }

    /// Wraps work of this time that is about to continue elsewhere, on a queue or another thread. Returns the function to
    /// call there. The clock of a virtual time with batons stands still until that function has returned, or is released.
    package func elsewhere(
        _ name: @autoclosure () -> String,
        _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        guard let virtual else { return body }
        guard let baton = virtual.expectBaton(name()) else { return { CurrentTime.with(virtual, body) } }
        return { baton.run(body) }
    }

    /// Returns what `submission` returns for `body`: a function that submits it, as work of this time (`elsewhere`). It is made
    /// once on a real time, and for each submission on one that waits for the work.
    package func submission(
        of body: @escaping @Sendable () -> Void,
        named name: @autoclosure @escaping @Sendable () -> String,
        by submission: @escaping @Sendable (@escaping @Sendable () -> Void) -> @Sendable () -> Void
    ) -> @Sendable () -> Void {
        if virtual == nil { return submission(body) }
        return { submission(elsewhere(name(), body))() }
    }

    /// Wraps the work of a whole thread that itself waits by this time; see `elsewhere(_:_:)`. For a clock that is moved by
    /// hand, that is a thread like any other: returns `body`.
    package func onThread(
        _ name: @autoclosure () -> String,
        _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        guard let baton = virtual?.expectBaton(name()) else { return body }
        return { baton.run(body) }
    }

    /// Makes a virtual clock stand still until the hold has ended. Returns nil if this time does not wait for holds.
    package func hold(_ name: @autoclosure () -> String) -> (any VirtualHold)? { virtual?.hold(name()) }

    /// Calls `body` on the calling thread, which a virtual time may not have known before.
    @inline(__always)
    package func enter<Result>(_ name: @autoclosure () -> String, _ body: () -> Result) -> Result {
        guard let virtual else { return body() }
        return virtual.enter(name(), body)
    }

    /// For code that runs a user's handlers and must keep nobody waiting: runs it on other threads, by `submit`. On virtual
    /// time, where nobody waits and everything runs in order, runs it here, by `body`.
    package func apart(_ submit: () -> Void, orHere body: () -> Void) {
        if virtual == nil { submit() } else { body() }
    }

    /// Whether calls are made early by a learned lead, to be in place by their deadlines. A virtual clock stands still on
    /// the way there, so that there is nothing to learn and nothing can be late.
    package var hasLeads: Bool { virtual == nil }

    /// Whether a due call comes while the calling thread waits for it. False on virtual time: a clock that is moved by hand
    /// may be moved by that very thread.
    package var comesByItself: Bool { virtual == nil }

    /// Tells a participant of virtual time, which has no thread, about an event for which a thread would be woken.
    @inline(__always)
    func hasWoken(_ participant: any VirtualTimeParticipant) {
        if virtual != nil { participant.hasBeenWoken() }
    }

    /// The outcome of a spin: whether a wake ended it, the last reading of the clock, and how long it took.
    typealias Spin = (isWoken: Bool, now_ns: Int64, spun_ns: Int64)

    /// Spins until the instant, by `spin`. On virtual time, returns nil if the clock must be moved to the instant first;
    /// after that move, the time since `begun_ns` counts as spun.
    @inline(__always)
    func spin(until instant_ns: Int64, from begun_ns: Int64, _ spin: () -> Spin) -> Spin? {
        if virtual == nil { return spin() }
        let now_ns = now_ns
        return now_ns < instant_ns ? nil : (false, now_ns, now_ns.subtractingSaturating(begun_ns))
    }

    /// Returns a random number, for uses without a seed. On virtual time the number follows from that time's seed and from
    /// how many numbers were drawn before, so that the same test has the same trace.
    package func randomNumber() -> UInt64 {
        guard let virtual else { return UInt64.random(in: .min ... .max) }
        let numbers = virtual.own(ObjectIdentifier(VirtualNumbers.self)) { VirtualNumbers(virtual.seed) }
        return (numbers as? VirtualNumbers)?.next() ?? 0
    }

    /// Returns this time's own instance of an object that is a singleton of the process; nil if this time uses the process's.
    func own(_ key: ObjectIdentifier, _ make: (TimeBase) -> any AnyObject & Sendable) -> (any AnyObject & Sendable)? {
        virtual?.own(key) { make(TimeBase(virtual: virtual)) }
    }
}

private final class VirtualNumbers: Sendable {
    private let count: Atomic<UInt64>

    init(_ seed: UInt64) {
        count = Atomic(mixed(seed))
    }

    func next() -> UInt64 { mixed(count.wrappingAdd(1, ordering: .relaxed).oldValue) }
}

// Differences that a test sees.
extension TimeBase {
    /// Notes, for messages of a virtual time, that the calling task is about to sleep.
    package func noteSleep(until deadline_ns: Int64, on participant: AnyObject) {
        virtual?.noteSleep(until: monotonic_ns(deadline_ns), on: ObjectIdentifier(participant))
    }

    /// Notes that the calling task has slept.
    package func noteEndOfSleep() { virtual?.noteEndOfSleep() }

    /// The precision of shared engines. On virtual time, a call that a test waits for comes at its deadline, whatever its
    /// tolerance.
    var sharedPrecision: TimerPrecision { virtual == nil ? .coalesced : .normal }

    /// Calls `look`, which checks how threads take part, for usage warnings. In debug builds only, and not on virtual time:
    /// there only what a test moves goes on, and it may be slow, or late, on purpose.
    package func lookForMisuse(_ look: () -> Void) {
        if UsageWarning.isLookedFor, virtual == nil { look() }
    }

    /// Whether the kernel's counts of a thread tell anything about lateness. A virtual clock does not go on while a thread
    /// waits.
    var hasKernelCounts: Bool { virtual == nil }

    /// Whether real displays, and other sources with descriptors of their own, can be used: they go by the kernel's clocks
    /// alone.
    package var hasRealDisplays: Bool { virtual == nil }
}
#endif
