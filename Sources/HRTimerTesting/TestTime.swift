#if os(Linux)
public import HRTimer

/// Virtual time that moves by itself: what the body of `withManualTime` is given.
///
///     @Test func debounced() async throws {
///         try await withManualTime { time in
///             let search = Search()                   // sleeps 300 ms on MonotonicClock(), in a Task {}
///             await search.type("s")
///             await time.advance(by: .milliseconds(299))
///             #expect(await search.requests == 0)
///             await time.advance(by: .milliseconds(1))
///             #expect(await search.requests == 1)
///         }
///     }
///
/// The clock moves only when all tasks of the test wait: then it jumps to the next deadline, of whatever has one. So a test may
/// simply sleep. All members may be used from any thread.
public final class TestTime: Sendable {
    let scheduler: DeterministicScheduler
    let manual: ManualTime
    private let unmanagedBefore = CurrentTime.unmanagedReadings

    /// The number that decides about the order of tasks that are ready; nil if that is the order in which they became so.
    public let seed: UInt64?
    /// Whether tasks are known that have no executor of their own, as `Task {}` makes them: false if Swift's runtime has no
    /// hook for that.
    public let catchesUnstructuredTasks: Bool

    init(_ options: TestTimeOptions, servesMainActor: Bool) {
        scheduler = DeterministicScheduler(options, servesMainActor: servesMainActor)
        manual = ManualTime(start: options.start, wallStart: options.wallStart, scheduler: scheduler)
        seed = options.seed
        catchesUnstructuredTasks = CaughtTasks.open(scheduler)
    }

    /// What the clock reads. Inside of the test `MonotonicInstant.now` reads the same.
    public var now: MonotonicInstant { manual.now }

    /// What the boot-time clock reads.
    public var bootTimeNow: BootTimeInstant { manual.bootTimeNow }

    /// What the wall clock reads.
    public var wallNow: WallInstant { manual.wallNow }

    /// For the configuration of an engine or a loop that is made elsewhere: inside of the test it is the default.
    public var base: TimeBase { manual.base }

    /// The earliest deadline of all engines, and of all loops with threads of their own; `distantFuture` if there is none.
    public var nextDeadline: MonotonicInstant {
        let threads_ns = scheduler.parked.map(\.deadline_ns).min() ?? .max
        return MonotonicInstant(nanoseconds: min(manual.nextDeadline.nanoseconds, threads_ns))
    }

    /// Who sleeps, what is held, and what is armed, one a line.
    public var pending: [String] { scheduler.report(manual) }

    /// Throws if anything is pending that has a deadline, or is held, apart from what was begun as background.
    public func checkNothingIsPending() throws(TestTimeFailure) {
        let lines = scheduler.leftovers(manual)
        if !lines.isEmpty { throw TestTimeFailure(reason: .leftovers, instant: now.description, pending: lines) }
    }

    /// How often `now` of an instant was read, since the test began, on a thread that is in no virtual time: those readings
    /// were the kernel's. Of the whole process: other tests count too.
    public var unmanagedReadings: Int { CurrentTime.unmanagedReadings - unmanagedBefore }
}

// Moving.
extension TestTime {
    /// Moves the clock by `duration`, and returns when everything that falls due on the way has come, each at its own deadline,
    /// and all tasks wait: chains of sleeps run to their end. A negative duration counts as zero, which only runs what is ready
    /// and due.
    public func advance(by duration: Duration, fileID: String = #fileID, line: Int = #line) async {
        await advance(to: now.advanced(by: max(.zero, duration)), fileID: fileID, line: line)
    }

    /// The same up to an instant; a past one counts as now, `distantFuture` as the last instant before it.
    public func advance(to instant: MonotonicInstant, fileID: String = #fileID, line: Int = #line) async {
        let to_ns = min(max(instant.nanoseconds, now.nanoseconds), .max - 1)
        _ = await scheduler.ask(.advance(to_ns: to_ns), "\(fileID):\(line)")
    }

    /// Runs all that is ready and due, without moving the clock.
    public func runUntilIdle(fileID: String = #fileID, line: Int = #line) async {
        _ = await scheduler.ask(.idle, "\(fileID):\(line)")
    }

    /// Returns when all tasks wait, and one of them sleeps or a timer is armed: the earliest deadline of all. The clock moves
    /// only if there is none yet and something else lets it.
    public func nextSleep(fileID: String = #fileID, line: Int = #line) async -> MonotonicInstant {
        MonotonicInstant(nanoseconds: await scheduler.ask(.nextSleep, "\(fileID):\(line)"))
    }

    /// Moves the clock from deadline to deadline until nothing is pending, or until it has moved `limit` times: how often it
    /// did. For one-shot work; a repeating timer never ends by itself.
    @discardableResult
    public func run(limit: Int = 100_000, fileID: String = #fileID, line: Int = #line) async -> Int {
        Int(await scheduler.ask(.run(limit: limit, moves: 0), "\(fileID):\(line)"))
    }

    /// Sets the wall clock, forward or back: the other clocks do not notice. Returns when all that the step passes has come.
    public func setWall(to instant: WallInstant, fileID: String = #fileID, line: Int = #line) async {
        manual.stepWall(to: instant)
        await runUntilIdle(fileID: fileID, line: line)
    }

    /// As if the system were suspended for so long: the boot-time and the wall clock go on, the monotonic clock stands still.
    /// Returns when all has come that fell due meanwhile.
    public func suspendSystem(for duration: Duration, fileID: String = #fileID, line: Int = #line) async {
        manual.stepOthers(by: duration)
        await runUntilIdle(fileID: fileID, line: line)
    }
}

// What virtual time does not see by itself.
extension TestTime {
    /// Has the clock stand still until the hold is released or let go, for work that leaves virtual time: on the network, on a
    /// queue, in a thread. Tasks go on meanwhile. What was held for too long (`patience`) fails the test, which names `reason`.
    public func hold(_ reason: String = "", fileID: String = #fileID, line: Int = #line) -> TimeHold {
        scheduler.hold(reason.isEmpty ? "by \(fileID):\(line)" : "\(reason), by \(fileID):\(line)")
    }

    /// The same for as long as `body` takes, which must not sleep on this time.
    public func holding<Result>(
        _ reason: String = "",
        fileID: String = #fileID,
        line: Int = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let hold = hold(reason, fileID: fileID, line: line)
        defer { hold.release() }
        return try await body()
    }

    /// Calls `body` on the calling thread, in this time: its readings are virtual, and so is what it makes. Everything else
    /// waits until it has returned. For threads and blocks on queues that virtual time does not know of; where it knows them it
    /// calls `body` at once.
    ///
    /// The clock does not wait for a call that has not begun: take a `hold()` where the thread is started.
    public func enter<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try manual.enter("code that has entered", body)
    }

    @TaskLocal static var isBackground = false

    /// Tasks that are begun in `body` are background: they may still sleep when the test ends. Their sleeps then throw a
    /// `CancellationError`, if the engine is this time's own.
    public static func background<Result>(_ body: () throws -> Result) rethrows -> Result {
        try $isBackground.withValue(true, operation: body)
    }
}

// What happened.
extension TestTime {
    /// One thing that happened, at an instant.
    public struct Event: Sendable, Hashable, CustomStringConvertible {
        /// What it was.
        public enum What: Sendable, Hashable {
            /// A task ran up to where it waited next; numbered as they appeared.
            case task(Int)
            /// An engine of that name called what was due.
            case engine(String)
            /// A thread or a queue ran with the baton.
            case baton(String)
            /// The clock moved to the instant.
            case moved
        }

        /// What the clock read.
        public let instant: MonotonicInstant
        /// What it was.
        public let what: What

        /// Both in one line.
        public var description: String { "\(instant): \(what.description)" }
    }

    /// Everything that happened so far, in order; at most the first million events. The same test with the same seed has the
    /// same trace, as long as nothing in it depends on the real world.
    public var trace: [Event] { scheduler.state.withLock(\.trace) }

    static var longestTrace: Int { 1_000_000 }
}

extension TestTime.Event.What {
    var description: String {
        switch self {
        case .task(let number): "task \(number)"
        case .engine(let name): "engine \(name)"
        case .baton(let name): name
        case .moved: "the clock moved"
        }
    }
}
#endif
