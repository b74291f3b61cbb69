// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Foundation
import HRTimer
import Synchronization

/// Runs the probe of that name, which prints what it found, and exits.
@MainActor func runProbe(_ name: String) {
    switch name {
    case "idle": idle { TimerLoop.main.run(until: .now.advanced(by: .seconds(2))) }
    case "idle-foundation":
        let host = try? TimerLoop.main.serve(on: .main)
        idle { RunLoop.main.run(until: Date(timeIntervalSinceNow: 2)) }
        host?.cancel()
    case "idle-dispatch": idleOnPool()
    case "wake": post { TimerLoop.main.run() }
    case "wake-foundation": post { RunLoop.main.run() }
    case "nested": nested()
    case "order": order()
    case "starved": starved()
    case "posts": posts()
    case "perform": performOnMain()
    case "wait": waitOnLoopsThread(Array(CommandLine.arguments.dropFirst(2)))
    case "coarse-clock": coarseClock(Array(CommandLine.arguments.dropFirst(2)))
    case "handlers": handlers(CommandLine.arguments.dropFirst(2).first ?? "")
    default:
        print("no such probe")
        exit(2)
    }
    exit(0)
}

/// Prints how often all threads together slept and woke in the second half of the 2 s that `run` takes.
@MainActor private func idle(_ run: () -> Void) {
    // Makes sure that somebody has used the main queue.
    DispatchQueue.main.async {}
    let before = Atomic<Int>(-1)
    Thread.detachNewThread {
        sleep(1)
        before.store(switches(), ordering: .relaxed)
        // A thread that is gone would not be counted.
        sleep(60)
    }
    run()
    // The end of the run is one wake-up, the thread that counts another.
    print(switches() - before.load(ordering: .relaxed))
}

/// Prints the same number where the main queue, which has no thread of its own, hosts the loop. Leaves out the thread that
/// counts, which sleeps once.
@MainActor private func idleOnPool() {
    let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: false) { _ in }
    TimerLoop.main.add(timer, forMode: .default)
    Thread.detachNewThread {
        sleep(1)
        let before = switches()
        sleep(1)
        print(timer.isValid ? "the timer did not fire" : "\(switches() - before - 1)")
        exit(0)
    }
    dispatchMain()
}

private func switches() -> Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.reduce(0) { sum, task in
        let status = (try? String(contentsOfFile: "/proc/self/task/\(task)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
        return sum + (line.flatMap { Int($0.split(separator: "\t").last ?? "") } ?? 0)
    }
}

/// Prints the median time in ns from a post onto the main queue to a sleeping loop until it runs: the best of ten rounds of
/// 100.
@MainActor private func post(_ run: () -> Void) {
    Thread.detachNewThread {
        var best = Int64.max
        for _ in 0..<10 {
            var latencies: [Int64] = []
            for _ in 0..<100 {
                usleep(500)
                let done = DispatchSemaphore(value: 0)
                let posted = MonotonicInstant.now
                let ran_ns = Atomic<Int64>(0)
                DispatchQueue.main.async {
                    ran_ns.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
                    done.signal()
                }
                done.wait()
                latencies.append(ran_ns.load(ordering: .relaxed) - posted.nanoseconds)
            }
            best = min(best, latencies.sorted()[50])
        }
        print(best)
        exit(0)
    }
    run()
}

/// A run inside a block of the main queue leaves the queue alone, and does not spin. Blocks that come meanwhile run later.
@MainActor private func nested() {
    let log = Log()
    DispatchQueue.main.async {
        log.append("outer begins")
        DispatchQueue.main.async { log.append("inner") }
        let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: false) { _ in log.append("timer") }
        TimerLoop.main.add(timer, forMode: .default)
        let passes = LoopObserver(activities: .beforeTimers) { _, _ in log.count() }
        TimerLoop.main.add(passes, forMode: .default)
        TimerLoop.main.run(until: .now.advanced(by: .milliseconds(100)))
        passes.invalidate()
        log.append("outer ends")
    }
    DispatchQueue.main.async {
        DispatchQueue.main.async { TimerLoop.main.stop() }
    }
    TimerLoop.main.run()
    print(log.all.joined(separator: ", "), log.counted < 10 ? "without spinning" : "in \(log.counted) passes")
}

/// Blocks of the loop come first, then timers, then the main queue. No observer of waiting is called while that is ready.
@MainActor private func order() {
    let log = Log()
    let observer = LoopObserver(activities: [.beforeWaiting, .afterWaiting]) { _, activity in
        log.append(activity == .beforeWaiting ? "sleeps" : "wakes")
    }
    TimerLoop.main.add(observer, forMode: .default)
    DispatchQueue.main.async { log.append("main queue") }
    TimerLoop.main.perform { log.append("block") }
    let timer = LoopTimer(fireAt: .distantPast, interval: .zero, repeats: false) { _ in log.append("timer") }
    TimerLoop.main.add(timer, forMode: .default)
    print(TimerLoop.main.run(mode: .default, before: .now.advanced(by: .seconds(5))), log.all.joined(separator: ", "))
}

/// A main queue that is never empty starves neither timers nor observers, and they do not starve it.
@MainActor private func starved() {
    let log = Log()
    @Sendable func again() {
        log.count()
        DispatchQueue.main.async { again() }
    }
    again()
    let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { _ in log.append("tick") }
    TimerLoop.main.add(timer, forMode: .default)
    let observer = LoopObserver(activities: .beforeWaiting, repeats: false) { _, _ in log.append("observer") }
    TimerLoop.main.add(observer, forMode: .default)
    TimerLoop.main.run(until: .now.advanced(by: .milliseconds(300)))
    let ticks = log.all.filter { $0 == "tick" }.count
    print(ticks > 5, log.all.contains("observer"), log.counted > 100)
}

/// Four threads post 40,000 blocks; all come, and then the loop sleeps.
@MainActor private func posts() {
    let log = Log()
    for _ in 0..<4 {
        Thread.detachNewThread { for _ in 0..<10_000 { DispatchQueue.main.async { log.count() } } }
    }
    let timer = LoopTimer(timeInterval: .milliseconds(5), repeats: true) { _ in
        if log.counted == 40_000 { TimerLoop.main.stop() }
    }
    TimerLoop.main.add(timer, forMode: .default)
    TimerLoop.main.run(until: .now.advanced(by: .seconds(20)))
    print(log.counted)
}

private final class Log: Sendable {
    private let state = Mutex((words: [String](), count: 0))
    var all: [String] { state.withLock { $0.words } }
    var counted: Int { state.withLock { $0.count } }
    func append(_ word: String) { state.withLock { $0.words.append(word) } }
    func count() { state.withLock { $0.count += 1 } }
}

/// Blocks for the main thread, from that thread and from another one, with and without waiting.
@MainActor private func performOnMain() {
    let log = Words()
    TimerLoop.performOnMain(waitUntilDone: true) { log.lines.append("at once") }
    TimerLoop.performOnMain { log.lines.append("in a pass") }
    log.lines.append("before")
    Thread.detachNewThread {
        TimerLoop.performOnMain(waitUntilDone: true) { log.lines.append("waited for") }
        TimerLoop.performOnMain {
            log.lines.append("after")
            TimerLoop.main.stop()
        }
    }
    TimerLoop.main.run()
    print(log.lines.joined(separator: ", "))
}

@MainActor private final class Words {
    var lines: [String] = []
}
