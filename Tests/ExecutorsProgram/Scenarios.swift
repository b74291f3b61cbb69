// SPDX-License-Identifier: Apache-2.0
#if compiler(>=6.3)
import Dispatch
import Foundation
import Glibc
import HRTimer
import HRTimerExecutors
import HRTimerTesting
import TestSupport

let scenarios: [String: @MainActor @Sendable () async throws -> Void] = [
    "never-early": neverEarly,
    "never-early-anywhere": neverEarlyAnywhere,
    "every-form": everyForm,
    "keeps-order": keepsOrder,
    "cancels": cancels,
    "sleeps-by-the-thousand": sleepsByTheThousand,
    "main-thread": mainThread,
    "timer-executor": timerExecutor,
    "yields": yields,
    "virtual-time": inVirtualTime,
    "blocks-everywhere": blocksEverywhere,
    "many-at-once": manyAtOnce,
    "no-time": noTime,
    "no-time-here": noTimeHere,
    "medium": medium,
    "shares-wakes": sharesWakes,
    "heeds-no-tolerance": heedsNoTolerance,
    "negative-tolerance": negativeTolerance,
    "delays-jobs": delaysJobs,
    "not-isolated": notIsolated,
]

/// Sleeps of many lengths on both clocks, alone and side by side: none is short, and the best of them is not long either.
@MainActor private func neverEarly() async throws {
    let late = try await withThrowingTaskGroup(of: Duration.self) { group in
        for number in 0..<40 {
            group.addTask {
                var best = Duration.seconds(1)
                for round in 0..<25 {
                    let length = Duration.microseconds(number * 97 + round * 211)
                    let continuous = ContinuousClock.now + length
                    try await Task.sleep(until: continuous, clock: .continuous)
                    best = min(best, ContinuousClock.now - continuous)
                    expect(ContinuousClock.now >= continuous, "early on the continuous clock")
                    let suspending = SuspendingClock.now + length
                    try await Task.sleep(until: suspending, tolerance: .zero, clock: .suspending)
                    expect(SuspendingClock.now >= suspending, "early on the suspending clock")
                }
                return best
            }
        }
        var best = Duration.seconds(1)
        for try await late in group { best = min(best, late) }
        return best
    }
    expect(late < .milliseconds(1), "the best was late by \(late)")
    try await waitUntilNothingIsLeft()
}

/// Waits until no sleep is left.
func waitUntilNothingIsLeft() async throws {
    while TimerExecutors.pendingSleeps > 0 { await Task.yield() }
}

/// No sleep is early, whether its task belongs to an actor, the main actor, another package's executor or a parent task.
@MainActor private func neverEarlyAnywhere() async throws {
    let nappers = (0..<4).map { _ in Napper() }
    let executor = QueueExecutor()
    let tasks = (0..<200).map { number in
        let length = Duration.microseconds(200 + number * 131 % 3000)
        return switch number % 5 {
        case 0: Task { try await nappers[number % 4].nap(length) }
        case 1: Task { @MainActor in try await nap(length) }
        case 2: Task.detached(executorPreference: executor) { try await nap(length) }
        case 3: Task.detached(executorPreference: globalConcurrentExecutor) { try await nap(length) }
        default:
            Task.detached {
                async let one: Void = nap(length), other: Void = nap(length); _ = try await (one, other)
            }
        }
    }
    for task in tasks { try await task.value }
    // Also one after the other, when nothing else makes the pool late.
    for number in 0..<40 {
        try await nappers[0].nap(.microseconds(300))
        try await nap(.microseconds(300))
        try await Task.detached(executorPreference: executor) { try await nap(.microseconds(300)) }.value
        try await Task.detached { try await nap(.microseconds(300 + number)) }.value
    }
}

@Sendable func nap(_ length: Duration) async throws {
    for _ in 0..<10 {
        let deadline = ContinuousClock.now + length
        try await Task.sleep(until: deadline, clock: .continuous)
        let now = ContinuousClock.now
        expect(now >= deadline, "early by \(deadline - now)")
    }
}

private actor Napper {
    func nap(_ length: Duration) async throws {
        for _ in 0..<10 {
            let deadline = SuspendingClock.now + length
            try await Task.sleep(until: deadline, clock: .suspending)
            let now = SuspendingClock.now
            expect(now >= deadline, "early by \(deadline - now)")
        }
    }
}

/// An executor as another package may have one.
final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "other")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Every form of a sleep, and lengths that are zero, negative or endless.
@MainActor private func everyForm() async throws {
    let start = ContinuousClock.now
    try await Task.sleep(nanoseconds: 1_000_000)
    try await Task.sleep(for: .milliseconds(1))
    try await Task.sleep(for: .milliseconds(1), tolerance: .milliseconds(1), clock: .suspending)
    try await ContinuousClock().sleep(for: .milliseconds(1))
    try await SuspendingClock().sleep(until: .now + .milliseconds(1))
    try await MonotonicClock().sleep(for: .milliseconds(1))
    try await BootTimeClock().sleep(for: .milliseconds(1))
    expect(ContinuousClock.now - start >= .milliseconds(7), "seven sleeps took \(ContinuousClock.now - start)")
    try await Task.sleep(nanoseconds: 0)
    try await Task.sleep(for: .zero)
    try await Task.sleep(for: .seconds(-5))
    try await Task.sleep(for: .milliseconds(1), tolerance: .seconds(-1))
    // For ever, and for longer than a number of ns can say: only a cancellation ends them.
    let endless: [@Sendable () async throws -> Void] = [
        { try await Task.sleep(nanoseconds: .max) },
        { try await Task.sleep(for: .seconds(Int64.max / 4)) },
        { try await Task.sleep(until: .now + .seconds(1_000_000_000_000), clock: .suspending) },
    ]
    for sleep in endless {
        let task = Task { try await sleep() }
        try await Task.sleep(for: .milliseconds(2))
        task.cancel()
        let result = await task.result
        expect((try? result.get()) == nil, "an endless sleep ended")
    }
}

/// On the main actor, where nothing comes between, sleeps end in the order of their deadlines.
@MainActor private func keepsOrder() async throws {
    let order = Locked<[Int]>([])
    let start = ContinuousClock.now + .milliseconds(10)
    let lengths = (1...12).shuffled()
    let tasks = lengths.map { number in
        Task { @MainActor in
            try await Task.sleep(until: start + .milliseconds(8 * number), clock: .continuous)
            order.withLock { $0.append(number) }
        }
    }
    for task in tasks { try await task.value }
    let woken = order.withLock { $0 }
    // A machine that stalls for 8 ms lets two wake together, and then a race decides.
    let exchanged = zip(woken, woken.dropFirst()).count { $0 > $1 }
    expect(woken.count == 12 && exchanged <= 2, "woke in the order \(woken)")
}

/// A cancelled sleep ends at once with an error. Its entry goes at its deadline.
@MainActor private func cancels() async throws {
    let tasks = (0..<1000).map { _ in Task { try await Task.sleep(for: .seconds(3600)) } }
    while TimerExecutors.pendingSleeps < 1000 { await Task.yield() }
    for task in tasks { task.cancel() }
    for task in tasks {
        let result = await task.result
        expect((try? result.get()) == nil, "a cancelled sleep did not throw")
    }
    expect(TimerExecutors.pendingSleeps >= 1000, "the rests of cancelled sleeps are not counted")
    // Sleeps that are cancelled while they fire.
    for _ in 0..<500 {
        let near = ContinuousClock.now + .microseconds(200)
        let task = Task { try await Task.sleep(until: near, clock: .continuous) }
        try await Task.sleep(until: near - .microseconds(50), clock: .continuous)
        task.cancel()
        if case .success = await task.result { expect(ContinuousClock.now >= near, "early beside a cancellation") }
    }
    let before = Task { try await Task.sleep(for: .seconds(3600)) }
    before.cancel()
    let result = await before.result
    expect((try? result.get()) == nil, "cancelled before it slept, and did not throw")
    // The entries of these sleeps go at their deadlines, except for those of the first thousand and perhaps of the last one,
    // which are an hour away.
    while TimerExecutors.pendingSleeps > 1001 { await Task.yield() }
}

/// 10^5 sleeps at once on each clock; a third of those on the continuous clock are cancelled. Not in groups, which look through
/// all children for each one that ends.
@MainActor private func sleepsByTheThousand() async throws {
    let count = isSanitized ? 10_000 : 100_000
    let continuous = (0..<count).map { number in
        Task.detached {
            let deadline = ContinuousClock.now + .microseconds(number * 7 % 500_000)
            try await Task.sleep(until: deadline, clock: .continuous)
            expect(ContinuousClock.now >= deadline, "early among many")
        }
    }
    let suspending = (0..<count).map { number in
        Task.detached {
            let deadline = SuspendingClock.now + .microseconds(number * 7 % 500_000)
            try await Task.sleep(until: deadline, clock: .suspending)
            expect(SuspendingClock.now >= deadline, "early among many")
        }
    }
    for (number, task) in continuous.enumerated() where number % 3 == 0 { task.cancel() }
    var (slept, thrown) = (0, 0)
    for task in continuous + suspending {
        if case .success = await task.result { slept += 1 } else { thrown += 1 }
    }
    let isRight = slept >= 2 * count - (count + 2) / 3 && slept + thrown == 2 * count
    expect(isRight, "\(slept) slept and \(thrown) were cancelled")
    try await waitUntilNothingIsLeft()
}

/// The main actor runs on the main thread, before and after each kind of pause, and so do the handlers of its loop.
@MainActor private func mainThread() async throws {
    expect(here() == getpid(), "the main actor is elsewhere")
    try await Task.sleep(for: .milliseconds(1))
    expect(here() == getpid(), "elsewhere after a sleep")
    try await MonotonicClock().sleep(for: .milliseconds(1))
    expect(here() == getpid(), "elsewhere after a sleep by our clock")
    await Task.yield()
    let elsewhere = await Task.detached { here() }.value
    expect(elsewhere != getpid() && here() == getpid(), "a detached task is on the main thread")
    let back = await Task.detached { await MainActor.run { here() } }.value
    expect(back == getpid(), "MainActor.run is elsewhere")
    await withCheckedContinuation { continuation in
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in
            MainActor.assumeIsolated { expect(here() == getpid(), "a handler is elsewhere") }
            continuation.resume()
        }
        TimerLoop.main.add(timer, forMode: .common)
    }
    MainActor.preconditionIsolated()
    // Ends the run of the loop, and not the program.
    TimerLoop.main.stop()
    try await Task.sleep(for: .milliseconds(1))
    expect(here() == getpid(), "elsewhere after a stop")
}

/// A task on an engine's or a loop's thread stays there in the standard library's sleeps, which end even if the thread does.
@MainActor private func timerExecutor() async throws {
    let engine = try TimerEngine()
    let thread = try TimerLoop.thread()
    let executors = [TimerExecutor(engine: engine), TimerExecutor(thread: thread)]
    for executor in executors {
        try await Task(executorPreference: executor) {
            let its = here()
            for _ in 0..<20 {
                let deadline = ContinuousClock.now + .microseconds(300)
                try await Task.sleep(until: deadline, clock: .continuous)
                expect(here() == its && ContinuousClock.now >= deadline, "moved, or early")
                try await Task.sleep(until: .now + .microseconds(300), clock: .suspending)
                expect(here() == its, "moved")
            }
        }.value
    }
    // Not all of them: a thread that stood still before a sleep finds its deadline past.
    expect(engine.statistics.fires >= 20, "the engine fired \(engine.statistics.fires) times")
    let deadline = ContinuousClock.now + .milliseconds(50)
    let tasks = executors.map { executor in
        Task(executorPreference: executor) {
            try await Task.sleep(until: deadline, clock: .continuous)
            expect(ContinuousClock.now >= deadline, "early without its thread")
        }
    }
    try await Task.sleep(for: .milliseconds(10))
    endThreads(engine, thread)
    for task in tasks { try await task.value }
}

private func endThreads(_ engine: TimerEngine, _ thread: LoopThread) {
    engine.shutdown()
    thread.shutdown()
}

/// On an engine in virtual time a sleep takes its length of that time, on the standard library's clocks too.
@MainActor private func inVirtualTime() async throws {
    let time = ManualTime()
    let executor = TimerExecutor(engine: try TimerEngine(.init(time: time.base)))
    let slept = Locked(0)
    let task = Task(executorPreference: executor) {
        try await Task.sleep(for: .seconds(3600), clock: .suspending)
        slept.withLock { $0 += 1 }
        try await Task.sleep(for: .seconds(3600), clock: .continuous)
        slept.withLock { $0 += 1 }
    }
    // Each step with how many sleeps are over after it. The first one only lets the task begin.
    for (step_s, count) in [(0, 0), (3500, 0), (200, 1), (3300, 1), (300, 2)] {
        time.advance(by: .seconds(step_s))
        let now = slept.withLock { $0 }
        expect(now == count, "\(now) sleeps were over, and not \(count), after \(step_s) s more")
    }
    try await task.value
}

/// With coalescing, sleeps that may be late end together, in the wake-up of the first one that may not be later.
@MainActor private func sharesWakes() async throws {
    let start = ContinuousClock.now + .milliseconds(20)
    let last = start + .milliseconds(40)
    let ends = try await withThrowingTaskGroup(of: ContinuousClock.Instant.self) { group in
        for number in 0..<40 {
            group.addTask {
                let deadline = start + .milliseconds(number)
                try await Task.sleep(until: deadline, tolerance: .milliseconds(100), clock: .continuous)
                let now = ContinuousClock.now
                expect(now >= deadline, "early")
                return now
            }
        }
        var ends: [ContinuousClock.Instant] = []
        for try await end in group { ends.append(end) }
        return ends
    }
    // Some end in an earlier wake-up of the engine. Without coalescing only a handful end together.
    let together = ends.count { $0 >= last }
    expect(together >= 20, "\(together) of 40 sleeps shared a wake-up")
}

/// Without coalescing a tolerance makes no sleep longer.
@MainActor private func heedsNoTolerance() async throws {
    let start = ContinuousClock.now
    for _ in 0..<3 { try await Task.sleep(for: .milliseconds(1), tolerance: .seconds(5)) }
    try await Task.detached { try await Task.sleep(for: .milliseconds(1), tolerance: .seconds(5)) }.value
    let took = ContinuousClock.now - start
    expect(took < .seconds(4), "four sleeps of a millisecond took \(took)")
}

/// A negative tolerance counts as none: no thread is awake until the deadline.
@MainActor private func negativeTolerance() async throws {
    let took = try await Task.detached {
        let before = processorTime()
        for _ in 0..<10 { try await Task.sleep(for: .milliseconds(40), tolerance: .seconds(-1)) }
        return processorTime() - before
    }.value
    expect(took < .milliseconds(60), "ten sleeps of 40 ms took \(took) of a processor")
}

private func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// Claims to be on the main actor while off it. Must end the process.
@MainActor private func notIsolated() async throws {
    await Task.detached { pretendToBeMain() }.value
}

private func pretendToBeMain() { MainActor.preconditionIsolated() }

/// The body has the priority of an async main: what it waits for is not raised.
@MainActor private func medium() async throws {
    expect(Task.currentPriority == .medium, "the body's priority is \(Task.currentPriority)")
    let child = await Task.detached { Task.currentPriority }.value
    expect(child == .medium, "a detached task's priority is \(child)")
}

/// The pool is libdispatch's: tasks run beside each other, and tasks that only yield keep no sleep from ending.
@MainActor private func yields() async throws {
    let busy = (0..<8).map { _ in Task.detached { while !Task.isCancelled { await Task.yield() } } }
    for _ in 0..<20 { try await Task.sleep(for: .milliseconds(1)) }
    for task in busy { task.cancel() }
    for task in busy { await task.value }
    let threads = await withTaskGroup(of: Int32.self) { group in
        for _ in 0..<200 {
            group.addTask {
                usleep(1000)
                return here()
            }
        }
        var threads: Set<Int32> = []
        for await thread in group { threads.insert(thread) }
        return threads
    }
    expect(threads.count > 1, "all tasks ran on one thread")
}
#endif
