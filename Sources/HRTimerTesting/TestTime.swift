// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimer

/// Virtual time that moves by itself: the body of `withManualTime` receives it.
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
/// The clock moves only when all tasks of the test wait. Then it jumps to the next deadline of anything that has one, so a test
/// may just sleep. All members may be used from any thread.
public final class TestTime: Sendable {
    let scheduler: DeterministicScheduler
    let manual: ManualTime
    private let unmanagedBefore = CurrentTime.unmanagedReadings

    /// The seed of the order of ready tasks; nil if they run in the order in which they became ready.
    public let seed: UInt64?
    /// Whether this time catches tasks without an executor of their own, as `Task {}` makes them; false if Swift's runtime has
    /// no hook for that.
    package let catchesUnstructuredTasks: Bool

    init(_ options: TestTimeOptions, servesMainActor: Bool) {
        scheduler = DeterministicScheduler(options, servesMainActor: servesMainActor)
        manual = ManualTime(start: options.start, wallStart: options.wallStart, scheduler: scheduler)
        seed = options.seed
        catchesUnstructuredTasks = CaughtTasks.open(scheduler)
    }

    /// The clock's reading, which is also that of `MonotonicInstant.now` inside the test.
    public var now: MonotonicInstant { manual.now }

    /// The reading of the boot-time clock.
    public var bootTimeNow: BootTimeInstant { manual.bootTimeNow }

    /// The reading of the wall clock.
    public var wallNow: WallInstant { manual.wallNow }

    /// The time for the configuration of an engine or a loop that is made elsewhere; inside the test it is the default.
    public var base: TimeBase { manual.base }

    /// The earliest deadline of all engines, and of all loops with threads of their own; nil if there is none.
    public var nextDeadline: MonotonicInstant? {
        let threads_ns = scheduler.parked.map(\.deadline_ns).min() ?? .max
        let earliest_ns = min(manual.earliestDeadline_ns, threads_ns)
        return earliest_ns < .max ? MonotonicInstant(nanoseconds: earliest_ns) : nil
    }

    /// The tasks that sleep, the holds, and what is armed, one per line.
    public var pending: [String] { scheduler.report(manual) }

    /// Throws if anything that has a deadline is pending, or anything is held, apart from what was begun as background.
    public func checkNothingIsPending() throws(TestTimeFailure) {
        let lines = scheduler.leftovers(manual)
        if !lines.isEmpty { throw TestTimeFailure(reason: .leftovers, instant: now.description, pending: lines) }
    }

    /// How often `now` of an instant was read, since the test began, on a thread in no virtual time, and so from the kernel's
    /// clock.
    ///
    /// Counts the whole process, other tests too.
    public var unmanagedReadings: Int { CurrentTime.unmanagedReadings - unmanagedBefore }
}

// Moving.
extension TestTime {
    /// Moves the clock by `duration`, and returns when everything due on the way has come, each at its own deadline, and all
    /// tasks wait: chains of sleeps run to their end.
    ///
    /// A negative duration counts as zero, which only runs what is ready and due.
    public func advance(by duration: Duration, fileID: String = #fileID, line: Int = #line) async {
        await advance(to: now.advanced(by: max(.zero, duration)), fileID: fileID, line: line)
    }

    /// Moves the clock to an instant; see `advance(by:)`.
    ///
    /// A past one counts as now, `distantFuture` as the last instant before.
    public func advance(to instant: MonotonicInstant, fileID: String = #fileID, line: Int = #line) async {
        let to_ns = min(max(instant.nanoseconds, now.nanoseconds), .max - 1)
        _ = await scheduler.ask(.advance(to_ns: to_ns), "\(fileID):\(line)")
    }

    /// Runs everything that is ready and due, without moving the clock.
    public func runUntilIdle(fileID: String = #fileID, line: Int = #line) async {
        _ = await scheduler.ask(.idle, "\(fileID):\(line)")
    }

    /// Returns the earliest deadline of all, when all tasks wait and one of them sleeps or a timer is armed.
    ///
    /// The clock moves meanwhile only if there is no deadline yet and another request moves it.
    public func nextSleep(fileID: String = #fileID, line: Int = #line) async -> MonotonicInstant {
        MonotonicInstant(nanoseconds: await scheduler.ask(.nextSleep, "\(fileID):\(line)"))
    }

    /// Moves the clock from deadline to deadline until nothing is pending, or until it has moved `limit` times.
    ///
    /// Returns how often it moved. For one-shot work; a repeating timer never ends by itself.
    @discardableResult
    public func run(limit: Int = 100_000, fileID: String = #fileID, line: Int = #line) async -> Int {
        Int(await scheduler.ask(.run(limit: limit, moves: 0), "\(fileID):\(line)"))
    }

    /// Sets the wall clock, forward or back, and no other clock.
    ///
    /// Returns when everything that the step passes has come.
    public func setWall(to instant: WallInstant, fileID: String = #fileID, line: Int = #line) async {
        manual.stepWall(to: instant)
        await runUntilIdle(fileID: fileID, line: line)
    }

    /// Acts as if the system were suspended for that long: the boot-time and the wall clock go on, the monotonic clock stands
    /// still.
    ///
    /// Returns when everything that fell due meanwhile has come.
    public func suspendSystem(for duration: Duration, fileID: String = #fileID, line: Int = #line) async {
        manual.stepOthers(by: duration)
        await runUntilIdle(fileID: fileID, line: line)
    }
}

// Work that virtual time does not see by itself.
extension TestTime {
    /// Stops the clock until the hold is released or freed, for work that leaves virtual time: on the network, on a queue, in a
    /// thread.
    ///
    /// Tasks go on meanwhile. A hold that lasts too long (`patience`) fails the test, and the failure names `reason`.
    public func hold(_ reason: String = "", fileID: String = #fileID, line: Int = #line) -> TimeHold {
        scheduler.hold(reason.isEmpty ? "by \(fileID):\(line)" : "\(reason), by \(fileID):\(line)")
    }

    /// Calls `body` on the calling thread, in this time: the clocks that it reads are virtual, and so is the time of what it
    /// makes.
    ///
    /// Everything else waits until `body` has returned. For threads and blocks on queues that virtual time does not know of; on
    /// those that it knows, it calls `body` at once.
    ///
    /// The clock does not wait for a call that has not begun: take a `hold()` where the thread is started.
    public func enter<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try manual.enter("code that has entered", body)
    }

    @TaskLocal static var isBackground = false

    /// Marks the tasks that are begun in `body` as background: they may still sleep when the test ends.
    ///
    /// Their sleeps then throw a `CancellationError`, if the engine is this time's own.
    public static func background<Result>(_ body: () throws -> Result) rethrows -> Result {
        try $isBackground.withValue(true, operation: body)
    }
}

// The record of what happened.
extension TestTime {
    /// One thing that happened, at an instant.
    public struct Event: Sendable, Hashable, CustomStringConvertible {
        /// The kinds of events.
        public enum What: Sendable, Hashable {
            /// A task ran until it waited again.
            ///
            /// Tasks are numbered as they appeared.
            case task(Int)
            /// The engine of that name called what was due.
            case engine(String)
            /// A thread, or a block on a queue, ran with the baton.
            case baton(String)
            /// The clock moved to the instant.
            case moved
        }

        /// The clock's reading.
        public let instant: MonotonicInstant
        /// What happened.
        public let what: What

        /// The instant and what happened, in one line.
        public var description: String { "\(instant): \(what.description)" }
    }

    /// Everything that happened so far, in order; at most the first million events.
    ///
    /// The same test with the same seed has the same trace, as long as nothing in it depends on the real world.
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
