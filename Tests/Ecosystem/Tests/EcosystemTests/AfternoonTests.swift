// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar
import HRTimerTesting
import Logging
import ServiceLifecycle
import Testing

/// One afternoon of a server in virtual time, and another one seven months later, with all the nights between them.
@Suite("An afternoon of a server", .timeLimit(.minutes(5)))
struct AfternoonTests {
    private static let berlin = TimeZone(identifier: "Europe/Berlin")!

    private static func date(_ month: Int, _ day: Int, _ hour: Int) -> WallInstant {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = berlin
        return WallInstant(calendar.date(from: DateComponents(year: 2026, month: month, day: day, hour: hour))!)
    }

    /// The day before summer time begins, the day on which it ends, and the afternoon of that day.
    private static let start = date(3, 28, 12)
    private static let again = date(10, 25, 12)
    private static let shutdown = date(10, 25, 15)

    private struct Outcome: Sendable {
        var account: Server.Account
        var trace: [TestTime.Event]
        var dropped: Int?
        /// How long the graceful shutdown took.
        var end: Duration
        var start: MonotonicInstant
    }

    private func run(seed: UInt64) async throws -> Outcome {
        let options = TestTimeOptions(seed: seed, wallStart: Self.start)
        return try await withManualTime(options) { time in
            let start = time.now
            let server = try Server.start(seed: seed)
            let (reports, report) = AsyncStream.makeStream(of: Int.self)
            let engine = TimerEngineService(server.engine) { droppedTimers, _ in report.yield(droppedTimers) }
            let hourly = PeriodicService(every: .seconds(3600), jitter: .upTo(.seconds(600))) { _ in
            } work: {
                server.update { $0.hourly.append(.now) }
                try await Task.sleep(for: .seconds(30), clock: .monotonic)
            }
            let night = try CalendarSchedule(matching: DateComponents(hour: 2, minute: 30), in: Self.berlin)
            let nightly = PeriodicService(by: night) { _ in
            } work: {
                server.update { $0.nightly.append(.now) }
                try await Task.sleep(for: .seconds(1200), clock: .monotonic)
            }
            let clients = Clients(server: server, again: Self.again, closing: Self.shutdown, seed: seed)
            let group = ServiceGroup(
                services: [engine, Flush(server: server), clients, hourly, nightly],
                logger: Logger(label: "afternoon") { _ in SwiftLogNoOpLogHandler() }
            )
            let running = Task { try await group.run() }
            try await Task.sleep(until: Self.shutdown, clock: .wall)
            let asked = time.now
            await group.triggerGracefulShutdown()
            try await running.value
            try time.checkNothingIsPending()
            var iterator = reports.makeAsyncIterator()
            return Outcome(
                account: server.account,
                trace: time.trace,
                dropped: await iterator.next(),
                end: time.now - asked,
                start: start
            )
        }
    }

    @Test(
        "answers each request once, and loses neither a change nor the last log line up to its graceful shutdown",
        arguments: [1, 2] as [UInt64]
    )
    func requests(seed: UInt64) async throws {
        let outcome = try await run(seed: seed)
        let account = outcome.account
        // Each client asks at least twice in the first afternoon and a few times in the second.
        #expect(account.answers.count > 5 * Clients.count)
        #expect(!account.answers.values.contains("begun"))
        #expect(account.late == 0)
        #expect(account.attempts > account.answers.count)
        // The server has accepted exactly the requests that their clients know to be done.
        let done = account.answers.filter { $0.value == "done" }
        #expect(Set(done.keys) == Set(account.accepted.keys))
        #expect(account.accepted.values.allSatisfy { $0 == 1 })
        // Five failures in a row happen to one request in four hundred.
        #expect(done.count > account.answers.count * 98 / 100)
        for (changes, writes) in zip(account.changes, account.writes) {
            #expect(writes.last == changes)
            #expect(zip(writes, writes.dropFirst()).allSatisfy { $0 < $1 })
            #expect(writes.count <= changes)
        }
        #expect(account.changes.reduce(0, +) == account.accepted.count)
        #expect(account.written.last?.line == account.lines.last)
        // No two lines are less than a second apart, except for the last one, which the shutdown has flushed.
        let times = account.written.dropLast().map(\.at)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) })
        #expect(outcome.dropped == 0)
        // The shutdown waited for requests that were about to be tried again, and for nothing else.
        #expect(outcome.end > .milliseconds(100) && outcome.end < .seconds(30))
    }

    @Test("does no job twice and loses none, through both changes between winter and summer time")
    func jobs() async throws {
        let outcome = try await run(seed: 3)
        let nights = outcome.account.nightly
        // 3 nights of March, those of April to September, and 25 of October.
        let days = [3, 30, 31, 30, 31, 31, 30, 25].reduce(0, +)
        #expect(nights.count == days)
        let gaps = zip(nights, nights.dropFirst()).map { night, next -> Double in (next - night) / .seconds(3600) }
        // The first job is at 03:30, in the night without 02:30, so that 23 hours follow. The last is at the first of two
        // 02:30.
        #expect(gaps.first == 23)
        #expect(gaps.dropFirst().allSatisfy { $0 == 24 })
        #expect(nights.first == Self.date(3, 29, 3) + .seconds(1800))
        #expect(nights.last == Self.date(10, 25, 2) + .seconds(1800))

        let hours = outcome.account.hourly
        // 211 days and three hours, less the last job, whose jitter makes it later than the shutdown.
        #expect(hours.count == 211 * 24 + 2)
        for (number, instant) in hours.enumerated() {
            let nominal = outcome.start + .seconds(3600) * (number + 1)
            #expect(instant >= nominal && instant < nominal + .seconds(600))
        }
        let late = hours.map { instant -> Int64 in
            (instant.nanoseconds - outcome.start.nanoseconds) / 1_000_000_000 % 3600
        }
        #expect(Set(late).count > 100)
    }

    @Test("does the same again with the same seed, and something else with another seed")
    func repeatable() async throws {
        let first = try await run(seed: 11)
        let second = try await run(seed: 11)
        #expect(first.account == second.account)
        #expect(first.trace == second.trace)
        #expect(first.end == second.end)
        let other = try await run(seed: 12)
        #expect(first.account != other.account)
        #expect(first.trace != other.trace)
    }
}
