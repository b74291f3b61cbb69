// SPDX-License-Identifier: Apache-2.0
import HRTimer
import TestSupport
import TestTraits
import Testing

@testable import HRTimerTesting

/// Tests of which tasks virtual time takes for sleeping, whatever actors they visit.
@Suite("On virtual time", .hangLimit) struct LeftoverTests {
    private actor Log {
        private(set) var notes = 0

        func note() { notes += 1 }

        /// As `note`, but the caller goes on in a job of the actor.
        func noteLater() async {
            await Task.yield()
            notes += 1
        }

        func rest(_ length: Duration) async throws {
            try await Task.sleep(for: length, clock: .monotonic)
            notes += 1
        }
    }

    /// How a task is made.
    enum Kind: CaseIterable {
        case unstructured, detached, child, asyncLet, body
    }

    private func run(_ kind: Kind, _ work: @escaping @Sendable () async throws -> Void) async throws {
        switch kind {
        case .unstructured: try await Task { try await work() }.value
        case .detached: try await Task.detached { try await work() }.value
        case .child:
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await work() }
                try await group.waitForAll()
            }
        case .asyncLet:
            async let done: Void = work()
            try await done
        case .body: try await work()
        }
    }

    /// On virtual time, with an actor that tasks visit: expects that `body` leaves nothing pending.
    private func leavesNothing(_ body: @escaping @Sendable (Log, TestTime) async throws -> Void) async throws {
        try await withManualTime { time in
            try await body(Log(), time)
            try time.checkNothingIsPending()
        }
    }

    @Test(
        "a task that has slept leaves nothing pending, if it called an actor before, between and after its sleeps",
        arguments: Kind.allCases
    )
    func actorCalls(_ kind: Kind) async throws {
        try await leavesNothing { log, _ in
            try await run(kind) {
                await log.note()
                for _ in 0..<2 {
                    try await Task.sleep(for: .seconds(60), clock: .monotonic)
                    await log.noteLater()
                }
            }
            #expect(await log.notes == 3)
        }
    }

    @Test(
        "a task that has slept in an actor's method, or was cancelled there, leaves nothing pending",
        arguments: Kind.allCases
    )
    func sleepsInActors(_ kind: Kind) async throws {
        try await leavesNothing { log, time in
            try await run(kind) { try await log.rest(.seconds(60)) }
            let cancelled = Task { try await log.rest(.seconds(3600)) }
            await time.runUntilIdle()
            cancelled.cancel()
            _ = await cancelled.result
        }
    }

    @Test(
        "ticks whose consumer calls an actor leave nothing pending, if they end or their task is cancelled",
        arguments: Kind.allCases
    )
    func ticks(_ kind: Kind) async throws {
        try await leavesNothing { log, time in
            let ticks = MonotonicClock().ticks(every: .seconds(1))
            try await run(kind) {
                for await _ in ticks {
                    await log.noteLater()
                    if await log.notes == 5 { ticks.cancel() }
                }
            }
            let others = MonotonicClock().ticks(every: .seconds(1))
            let consumer = Task {
                for await _ in others { await log.noteLater() }
            }
            await time.advance(by: .milliseconds(3500))
            consumer.cancel()
            await consumer.value
            #expect(await log.notes == 8)
        }
    }

    @Test("a task that sleeps after it called an actor is named by its own number and name, as long as it sleeps")
    func named() async throws {
        try await withManualTime { time in
            let log = Log()
            let task = Task(name: "sleeper") {
                await log.noteLater()
                try await Task.sleep(for: .seconds(60), clock: .monotonic)
            }
            let inActor = Task { try await log.rest(.seconds(30)) }
            await time.runUntilIdle()
            let sleepers = time.pending.filter { $0.contains("sleeps until") }
            #expect(sleepers.count == 2, "\(sleepers)")
            #expect(
                sleepers.filter { $0.contains("(sleeper) sleeps until \(MonotonicInstant.now + .seconds(60))") }.count
                    == 1,
                "\(sleepers)"
            )
            await time.advance(by: .seconds(30))
            #expect(time.pending.filter { $0.contains("sleeps until") }.count == 1)
            try await task.value
            try await inActor.value
            #expect(!time.pending.contains { $0.contains("sleeps until") })
        }
    }
}
