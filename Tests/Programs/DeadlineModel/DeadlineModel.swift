// SPDX-License-Identifier: Apache-2.0
public import HRTimer
import Seeded
import Synchronization

/// Random operations with deadlines: they compute, suspend, add to their callers' task groups, nest, have cancellation
/// handlers, cancel themselves, throw, and heed cancellation or not. The model of each operation is a list of deadlines.
///
/// On a clock that stands still unless an operation moves it, the model is exact. On the real clock an operation may be
/// cancelled a little later than its deadline, but never before.
public struct DeadlineModel: Sendable {
    private let clock: MonotonicClock
    private let isExact: Bool
    private let pass: @Sendable (Duration) -> Void

    /// `pass` lets that much time pass on the clock, without suspending. `isExact` is whether nothing else moves the clock.
    public init(_ clock: MonotonicClock, isExact: Bool, pass: @escaping @Sendable (Duration) -> Void) {
        self.clock = clock
        self.isExact = isExact
        self.pass = pass
    }

    /// The error of an operation that did otherwise than it should, with all that it did.
    public struct Wrong: Error, CustomStringConvertible {
        /// The fault, and all steps, in words.
        public let description: String
    }

    private struct Refusal: Error, Equatable {
        let number: Int
    }

    /// The knowledge about one task, which alone touches it.
    private final class Known: @unchecked Sendable {
        // Sendable: one task has it.
        var random: SeededRandom
        /// The deadlines of all scopes that the task is in.
        var deadlines: [MonotonicInstant] = []
        var isWhollyCancelled = false
        var steps = 24
        var children = 0
        var wrong: String?
        var trail: [String] = []

        init(_ seed: UInt64) { random = SeededRandom(seed: seed) }

        func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

        func note(_ step: String) {
            trail.append(
                String(repeating: " ", count: deadlines.count) + step + (Task.isCancelled ? " (cancelled)" : "")
            )
        }
    }

    /// Runs one operation in a task of its own. Throws `Wrong` if it did otherwise than it should.
    public func run(seed: UInt64) async throws {
        let known = Known(seed)
        await Task.detached(name: "model") { await runTask(known) }.value
        guard let wrong = known.wrong else { return }
        throw Wrong(description: "seed \(seed): \(wrong)\n" + known.trail.joined(separator: "\n"))
    }

    private nonisolated(nonsending) func runTask(_ known: Known) async {
        do {
            if known.below(2) == 0 { try await steps(known) } else { try await group(known) }
        } catch {
            known.note("threw \(error)")
        }
        check(known, "at the end")
        if Task.name != "model" { known.wrong = "the name is lost" }
    }

    private func isExpected(_ known: Known) -> Bool {
        let now = clock.now
        return known.isWhollyCancelled || known.deadlines.contains { $0 <= now }
    }

    private func check(_ known: Known, _ place: String) {
        // In this order, so that a deadline that comes in between is not missed.
        let isCancelled = Task.isCancelled
        let isExpected = isExpected(known)
        if isExact ? isCancelled != isExpected : isCancelled && !isExpected {
            known.wrong = known.wrong ?? "\(place): cancelled \(isCancelled), not \(isExpected)"
            known.note("wrong")
        }
        if Task.hasActiveDeadline == known.deadlines.isEmpty {
            known.wrong = known.wrong ?? "\(place): hasActiveDeadline"
        }
        if Task.activeDeadline(for: clock) != known.deadlines.min() {
            known.wrong = known.wrong ?? "\(place): activeDeadline"
        }
    }

    // Steps outside of groups.
    private nonisolated(nonsending) func steps(_ known: Known) async throws {
        while known.steps > 0, known.below(6) > 0 {
            known.steps -= 1
            switch known.below(12) {
            case 0, 1: try await deadline(known) { try await steps(known) }
            case 2: try await timeout(known) { try await steps(known) }
            case 3: try await handled(known) { try await steps(known) }
            case 4: try await group(known)
            default: try await simple(known)
            }
            check(known, "after a step")
        }
    }

    // Steps in the body of a group, which may be the one around a deadline, or around several.
    private nonisolated(nonsending) func steps(_ known: Known, _ group: inout TaskGroup<Bool>) async throws {
        while known.steps > 0, known.below(8) > 0 {
            known.steps -= 1
            switch known.below(14) {
            case 0, 1: try await deadline(known) { try await steps(known, &group) }
            case 2: try await timeout(known) { try await steps(known, &group) }
            case 3: try await handled(known) { try await steps(known, &group) }
            case 4, 5, 6: add(known, to: &group)
            case 7:
                known.note("next")
                if await group.next() != nil { known.children -= 1 }
            case 8: try await self.group(known)
            default: try await simple(known)
            }
            check(known, "after a step in a group")
        }
    }

    private func add(_ known: Known, to group: inout TaskGroup<Bool>) {
        known.note("add")
        known.children += 1
        let (isCancelled, yields) = (Task.isCancelled, known.below(4))
        group.addTask {
            let wasCancelled = Task.isCancelled
            for _ in 0..<yields { await Task.yield() }
            return !isCancelled || wasCancelled
        }
    }

    private nonisolated(nonsending) func group(_ known: Known) async throws {
        let outside = known.children
        known.children = 0
        known.note("group")
        let error: (any Error)? = await withTaskGroup(of: Bool.self) { group in
            var thrown: (any Error)?
            do { try await steps(known, &group) } catch { thrown = error }
            for await isRight in group {
                known.children -= 1
                if !isRight { known.wrong = known.wrong ?? "a child of a cancelled task is not cancelled" }
            }
            return thrown
        }
        if known.children != 0 { known.wrong = known.wrong ?? "\(known.children) children are lost" }
        known.children = outside
        if let error { throw error }
    }

    private nonisolated(nonsending) func simple(_ known: Known) async throws {
        switch known.below(9) {
        case 0, 1:
            known.note("yield")
            await Task.yield()
        case 2:
            // Heeds nothing but cancellation.
            guard let deadline = known.deadlines.min(), deadline < .distantFuture else { return }
            known.note("until cancelled")
            if isExact { pass(max(.zero, clock.now.duration(to: deadline))) }
            while !Task.isCancelled {}
        case 3:
            known.note("sleep")
            if !isExact { try? await clock.sleep(for: .microseconds(known.below(60))) }
        case 4 where known.below(3) == 0:
            let number = known.below(1000)
            known.note("throw \(number)")
            throw Refusal(number: number)
        case 5 where known.below(10) == 0:
            // A further cancellation of a task that is cancelled for a deadline is lost: see `withDeadline`.
            guard isExact, !Task.isCancelled else { return }
            known.note("cancel")
            known.isWhollyCancelled = true
            withUnsafeCurrentTask { $0?.cancel() }
        default:
            let duration_us = known.below(40)
            known.note("pass \(duration_us)")
            pass(.microseconds(duration_us))
        }
    }

    private func randomDeadline(_ known: Known) -> MonotonicInstant {
        switch known.below(8) {
        case 0: clock.now
        case 1: .distantFuture
        default: clock.now + .microseconds(known.below(120))
        }
    }

    private nonisolated(nonsending) func deadline(
        _ known: Known,
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        let deadline = randomDeadline(known)
        known.note("deadline in \(clock.now.duration(to: deadline))")
        known.deadlines.append(deadline)
        defer { known.deadlines.removeLast() }
        let number = known.below(1000)
        defer { known.note("deadline is over, \(clock.now.duration(to: deadline)) before it came") }
        let returned = try await withDeadline(deadline, clock: clock) {
            check(known, "at the begin")
            try await body()
            check(known, "before the end")
            return number
        }
        if returned != number { known.wrong = known.wrong ?? "returned \(returned), not \(number)" }
    }

    private nonisolated(nonsending) func timeout(
        _ known: Known,
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        let timeout = Duration.microseconds(known.below(120))
        let deadline = clock.now + timeout
        known.note("timeout")
        // The clock may have gone on before it is read for the timeout.
        known.deadlines.append(isExact ? deadline : .distantFuture)
        let isOwn = known.deadlines.dropLast().allSatisfy { $0 > deadline }
        guard isExact else {
            known.deadlines.removeLast()
            return try await body()
        }
        defer { known.deadlines.removeLast() }
        do {
            try await withTimeout(timeout, clock: clock) { try await body() }
        } catch {
            let isTimedOut = error is TimedOut
            if isTimedOut != (isOwn && deadline <= clock.now) {
                known.wrong = known.wrong ?? "timed out \(isTimedOut), own \(isOwn)"
            }
            throw (error as? TimedOut)?.underlying ?? error
        }
    }

    private nonisolated(nonsending) func handled(
        _ known: Known,
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        known.note("handler")
        let runs = Atomic(0)
        defer {
            let runs = runs.load(ordering: .acquiring)
            let isExpected = isExpected(known)
            if runs > 1 || (isExact ? (runs == 1) != isExpected : runs == 1 && !isExpected) {
                known.wrong = known.wrong ?? "a handler ran \(runs) times, and was to \(isExpected)"
                known.note("wrong")
            }
        }
        try await withTaskCancellationHandler {
            try await body()
        } onCancel: {
            runs.add(1, ordering: .acquiringAndReleasing)
        }
    }
}
