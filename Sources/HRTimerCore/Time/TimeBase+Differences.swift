#if os(Linux)
// What virtual time does otherwise than the kernel's, each kind decided here and nowhere else: engines, loops and faces ask
// these questions, and never whether time is virtual (`make lint`).

import Synchronization

/// Which time it is, the kernel's or one of the virtual ones. Good as long as somebody holds that time.
package struct TimeID: Hashable, Sendable {
    private let virtual: ObjectIdentifier?

    fileprivate init(_ virtual: (any VirtualTime)?) {
        self.virtual = virtual.map { ObjectIdentifier($0) }
    }

    package var isVirtual: Bool { virtual != nil }
}

extension TimeBase {
    package var id: TimeID { TimeID(virtual) }

    /// Whether both read clocks of the same time, whichever of them.
    package func isSame(as other: TimeBase) -> Bool { virtual === other.virtual }

    /// The time that the calling thread belongs to alone, for a loop of its own; the kernel's for all other threads.
    package static var ofThread: TimeBase {
        TimeBase(virtual: CurrentTime.virtual.flatMap { $0.ownsThread ? $0 : nil })
    }

    /// The same without holding a virtual time; nil of the kernel's, which stays.
    package var weakly: WeakTimeBase? { virtual.map(WeakTimeBase.init) }
}

/// A virtual time, as long as it is there.
package struct WeakTimeBase: Sendable {
    private weak let virtual: (any VirtualTime)?

    fileprivate init(_ virtual: any VirtualTime) {
        self.virtual = virtual
    }

    package var time: TimeBase? { virtual.map { TimeBase(virtual: $0) } }
}

// Threads. A virtual time runs one thing after the other.
extension TimeBase {
    /// Has a virtual time run the participant, which it holds weakly, and begin by `here`; starts a thread for it otherwise.
    package func run<Failure: Error>(
        _ participant: any VirtualTimeParticipant,
        here: () -> Void,
        onThread start: () throws(Failure) -> Void
    ) throws(Failure) {
        guard let virtual else { return try start() }
        virtual.attach(participant)
        here()
    }

    /// For work of this time that is about to go on elsewhere, on a queue or another thread: gives what is to be called there.
    /// A virtual clock stands still until that has returned, or is let go.
    package func elsewhere(
        _ name: @autoclosure () -> String,
        _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        guard let virtual else { return body }
        guard let baton = virtual.expectBaton(name()) else { return { CurrentTime.with(virtual, body) } }
        return { baton.run(body) }
    }

    /// The same for a whole thread that waits by this time itself. On a clock that is moved by hand that is a thread like any
    /// other.
    package func onThread(
        _ name: @autoclosure () -> String,
        _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        guard let baton = virtual?.expectBaton(name()) else { return body }
        return { baton.run(body) }
    }

    /// Has a virtual clock stand still until the hold has ended; nil where nobody waits for it.
    package func hold(_ name: @autoclosure () -> String) -> (any VirtualHold)? { virtual?.hold(name()) }

    /// Calls `body` on the calling thread, which may be one that a virtual time has not known before.
    @inline(__always)
    package func enter<Result>(_ name: @autoclosure () -> String, _ body: () -> Result) -> Result {
        guard let virtual else { return body() }
        return virtual.enter(name(), body)
    }

    /// What runs a user's handlers and must keep nobody waiting: on other threads by `submit`; on virtual time, where nobody
    /// waits and all is in order, here by `body`.
    package func apart(_ submit: () -> Void, orHere body: () -> Void) {
        if virtual == nil { submit() } else { body() }
    }

    /// Whether a call is made early by a learned lead, to be at its place by its deadline. A virtual clock stands still on the
    /// way there: there is nothing to learn, and nothing that could be late.
    package var hasLeads: Bool { virtual == nil }

    /// Whether what is due comes while the calling thread waits for it. A clock that is moved by hand may be moved by that
    /// very thread.
    package var comesByItself: Bool { virtual == nil }

    /// For what a thread would be woken: a virtual time's participant, which has none, is told.
    @inline(__always)
    func hasWoken(_ participant: any VirtualTimeParticipant) {
        if virtual != nil { participant.hasBeenWoken() }
    }

    /// How a spin ended, at which reading of the clock, and how long it took.
    typealias Spin = (isWoken: Bool, now_ns: Int64, spun_ns: Int64)

    /// Spins by `spin` until the instant. Nil if a virtual clock has to be moved there first: then it spins in between.
    @inline(__always)
    func spin(until instant_ns: Int64, from begun_ns: Int64, _ spin: () -> Spin) -> Spin? {
        if virtual == nil { return spin() }
        let now_ns = now_ns
        return now_ns < instant_ns ? nil : (false, now_ns, now_ns.subtractingSaturating(begun_ns))
    }

    /// A number for what is random without a seed. On virtual time it follows from that time's seed, and from how many there
    /// were before: the same test has the same trace.
    package func randomNumber() -> UInt64 {
        guard let virtual else { return UInt64.random(in: .min ... .max) }
        let numbers = virtual.own(ObjectIdentifier(VirtualNumbers.self)) { VirtualNumbers(virtual.seed) }
        return (numbers as? VirtualNumbers)?.next() ?? 0
    }

    /// This time's own instance of an object that the process has one of; nil if it uses the process's.
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

// What a test wants to see.
extension TimeBase {
    /// The calling task is about to sleep: for messages of a virtual time.
    package func noteSleep(until deadline_ns: Int64, on participant: AnyObject) {
        virtual?.noteSleep(until: monotonic_ns(deadline_ns), on: ObjectIdentifier(participant))
    }

    /// How exact engines are that everybody shares: what a test waits for comes at its deadline, whatever the tolerance.
    var sharedPrecision: TimerPrecision { virtual == nil ? .coalesced : .normal }

    /// Usage warnings look at how threads take part, in debug builds. Not on virtual time, where only what a test moves goes on,
    /// and that may be slow, or late, on purpose.
    package func lookForMisuse(_ look: () -> Void) {
        if UsageWarning.isLookedFor, virtual == nil { look() }
    }

    /// Whether the kernel's counts of a thread say anything about lateness: a virtual clock does not go on while a thread waits.
    var hasKernelCounts: Bool { virtual == nil }

    /// A real display, and whatever else has descriptors of its own, goes by the kernel's clocks alone.
    package var hasRealDisplays: Bool { virtual == nil }
}
#endif
