// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Foundation
import Glibc
import HRTimer
import HRTimerExecutors

/// A process whose executors are ours. Runs one scenario, named on the command line, in the precision that is named after it.
/// Prints what went wrong, and "done" at its end.
@main
struct Program {
    static func main() throws {
        #if compiler(>=6.3)
        let name = CommandLine.arguments[1]
        let precision: TimerPrecision =
            switch CommandLine.arguments[2] {
            case "precise": .precise
            case "coalesced": .coalesced
            default: .normal
            }
        switch name {
        case "installs-late": installLate()
        case "installs-elsewhere": installElsewhere()
        case "installs-twice":
            TimerExecutors.install(precision: precision)
            TimerExecutors.install(precision: .coalesced)
            try TimerExecutors.run { try await oneSleep() }
            print("done")
        case "stays-alive": stayAlive(precision)
        case "throws": try throwFromBody(precision)
        case "foundation-loop": underFoundationsLoop(precision)
        case "dispatch-main": underDispatchMain(precision)
        default:
            guard let scenario = scenarios[name] else { return print("no scenario is called \(name)") }
            try TimerExecutors.run(precision: precision) { try await scenario() }
            print("done")
        }
        #else
        print("needs Swift 6.3")
        #endif
    }

    #if compiler(>=6.3)
    private static func throwFromBody(_ precision: TimerPrecision) throws {
        do {
            try TimerExecutors.run(precision: precision) { throw Mistake() }
        } catch is Mistake {
            print("done")
        }
    }

    /// Installs in a task, which runs on the standard library's executors already. Must end the process.
    private static func installLate() {
        Task { installFromTask() }
        sleep(10)
    }

    private static func installFromTask() { TimerExecutors.install() }

    /// Installs on a thread other than the main one. Must end the process as well.
    private static func installElsewhere() {
        let thread = try? startThread { TimerExecutors.install() }
        if let thread { pthread_join(thread, nil) }
    }

    @MainActor private static func oneSleep() async throws {
        let deadline = ContinuousClock.now + .milliseconds(2)
        let sleeper = Task.detached { try await Task.sleep(until: deadline, clock: .continuous) }
        while TimerExecutors.pendingSleeps == 0, .now < deadline { await Task.yield() }
        try await sleeper.value
        expect(ContinuousClock.now >= deadline, "early")
    }

    /// Runs Foundation's main loop: under XCTest, and in programs that run this loop, nobody runs `TimerLoop.main`.
    private static func underFoundationsLoop(_ precision: TimerPrecision) {
        TimerExecutors.install(precision: precision)
        Task { @MainActor in await exitWhenAllHasCome() }
        RunLoop.main.run(until: Date(timeIntervalSinceNow: 60))
        print("nothing came in Foundation's loop")
    }

    /// Calls dispatchMain(): the main queue leaves the main thread, and the main actor leaves with it.
    private static func underDispatchMain(_ precision: TimerPrecision) {
        TimerExecutors.install(precision: precision)
        Task { @MainActor in await exitWhenAllHasCome() }
        DispatchQueue.global().asyncAfter(deadline: .now() + 60) {
            print("nothing came in dispatchMain()")
            exit(1)
        }
        dispatchMain()
    }

    /// Waits for jobs, loop timers, main-queue blocks and sleeps of each clock, each as often as it should come. Then exits.
    @MainActor private static func exitWhenAllHasCome() async {
        for _ in 0..<20 {
            let deadline = ContinuousClock.now + .milliseconds(1)
            try? await Task.sleep(until: deadline, clock: .continuous)
            expect(ContinuousClock.now >= deadline, "early")
            try? await MonotonicClock().sleep(for: .milliseconds(1))
            await Task.detached { await MainActor.run { MainActor.assertIsolated() } }.value
            await withCheckedContinuation { continuation in
                DispatchQueue.main.async {
                    MainActor.assumeIsolated { continuation.resume() }
                }
            }
            await withCheckedContinuation { continuation in
                let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in
                    MainActor.assumeIsolated { continuation.resume() }
                }
                TimerLoop.main.add(timer, forMode: .common)
            }
        }
        print("done")
        exit(0)
    }

    /// The main thread's loop has nothing to do until a sleep is over, and still runs on. After `stop()` it returns.
    private static func stayAlive(_ precision: TimerPrecision) {
        TimerExecutors.install(precision: precision)
        expect(TimerLoop.main.isKeptAlive, "the main thread's loop is not kept alive")
        let isOver = Locked(false)
        Task.detached {
            try await Task.sleep(for: .milliseconds(20))
            isOver.withLock { $0 = true }
            TimerLoop.main.stop()
        }
        TimerLoop.main.run()
        expect(isOver.withLock { $0 }, "the main thread's loop has returned without stop()")
        print("done")
    }
    #endif
}

struct Mistake: Error {}

func expect(_ isTrue: Bool, _ what: @autoclosure () -> String, line: Int = #line) {
    if !isTrue { print("line \(line): \(what())") }
}

/// Returns the kernel's number of the calling thread.
func here() -> Int32 { hrt_thread_id() }
