// SPDX-License-Identifier: Apache-2.0
#if compiler(>=6.3)
import Dispatch
import Foundation
import Glibc
import HRTimer
import HRTimerExecutors
import TestSupport

// Scenarios in which every thread is taken, many sleeps end at once, or sleeps have no length.

/// Tasks that go on after a sleep and block their threads do not keep any other sleep from ending, however many they are.
@MainActor func blocksEverywhere() async throws {
    // libdispatch has separate threads for this priority. At the body's priority the task would wait for a blocker's thread.
    try await Task(priority: .high) { try await napWhileAllBlock() }.value
}

@MainActor private func napWhileAllBlock() async throws {
    let gate = DispatchSemaphore(value: 0)
    let begun = Count()
    let blockers = (0..<3 * sysconf(Int32(_SC_NPROCESSORS_ONLN))).map { number in
        Task.detached {
            try await Task.sleep(for: .milliseconds(1 + number))
            begun.add()
            block(at: gate)
        }
    }
    // The main actor's sleeps, which the loop's thread times itself. They need the pool only to get there.
    while begun.soFar < 2 { try await MonotonicClock().sleep(for: .milliseconds(1)) }
    let executor = QueueExecutor()
    for _ in 0..<20 {
        try await Task.detached(executorPreference: executor) { try await nap(.microseconds(300)) }.value
    }
    for _ in blockers { gate.signal() }
    for blocker in blockers { try await blocker.value }
}

private final class Count: Sendable {
    private let count = Locked(0)
    var soFar: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}

private func block(at gate: DispatchSemaphore) { gate.wait() }

/// Sleeps that end at the same instant, on both clocks, and several times.
@MainActor func manyAtOnce() async throws {
    for count in [2, 9, 10, 65, 200] {
        for _ in 0..<5 {
            let continuous = ContinuousClock.now + .milliseconds(2)
            let suspending = SuspendingClock.now + .milliseconds(2)
            let tasks = (0..<count).map { number in
                Task.detached {
                    if number % 2 == 0 {
                        try await Task.sleep(until: continuous, clock: .continuous)
                        expect(ContinuousClock.now >= continuous, "early beside others")
                    } else {
                        try await Task.sleep(until: suspending, clock: .suspending)
                        expect(SuspendingClock.now >= suspending, "early beside others")
                    }
                }
            }
            for task in tasks { try await task.value }
        }
    }
    try await waitUntilNothingIsLeft()
}

/// A sleep that is over before it begins wakes no engine. It switches threads no more often than a sleep of the standard
/// library, whose deadline may be past by the time that the library looks at it.
@MainActor func noTime() async throws {
    try await Task.detached {
        // From now on both engines have a thread, which could be woken.
        try await Task.sleep(for: .milliseconds(1), clock: .continuous)
        try await Task.sleep(for: .milliseconds(1), clock: .suspending)
        let rounds = 2000
        let wokenBefore = switches(ofThreads: "hrtimer-sleep")
        for _ in 0..<rounds { try await Task.sleep(for: .zero) }
        for _ in 0..<rounds { try await Task.sleep(until: .now - .seconds(1), clock: .suspending) }
        for _ in 0..<rounds { try await Task.sleep(until: .now - .seconds(1), clock: .continuous) }
        let woken = switches(ofThreads: "hrtimer-sleep") - wokenBefore
        expect(woken < rounds / 10, "\(3 * rounds) sleeps for no time woke the engines \(woken) times")
    }.value
}

/// Returns how often the threads of that name have slept.
private func switches(ofThreads name: String) -> Int {
    var sum = 0
    for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [] {
        guard let status = try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8) else {
            continue
        }
        let lines = status.split(separator: "\n")
        guard lines.first.map({ $0.hasSuffix(name) }) ?? false else { continue }
        let count = lines.first { $0.hasPrefix("voluntary_ctxt_switches:") }?.split(whereSeparator: \.isWhitespace).last
        sum += count.flatMap { Int($0) } ?? 0
    }
    return sum
}

/// On a thread of ours a sleep of no length lets other tasks run there, as on any thread. So a task can wait this way for
/// another task of the same thread.
@MainActor func noTimeHere() async throws {
    let set = Count()
    Task { @MainActor in set.add() }
    var rounds = 0
    while rounds < 1000, set.soFar == 0 {
        rounds += 1
        try await Task.sleep(for: .zero)
    }
    expect(set.soFar == 1, "sleeps for no time on the main actor let nobody else run there")
    let engine = try TimerEngine()
    let executor = TimerExecutor(engine: engine)
    let setThere = Count()
    try await Task(executorPreference: executor) {
        let its = here()
        Task(executorPreference: executor) { setThere.add() }
        var rounds = 0
        while rounds < 1000, setThere.soFar == 0 {
            rounds += 1
            try await Task.sleep(for: .zero)
            expect(here() == its, "a sleep for no time left the executor's thread")
        }
    }.value
    expect(setThere.soFar == 1, "sleeps for no time on an engine's thread let nobody else run there")
}
#endif
