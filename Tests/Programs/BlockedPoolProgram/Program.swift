// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import HRTimerCore
import HRTimerExecutors
import Synchronization

/// A process in which every thread of Swift's pool is blocked. Prints whether the event named on the command line still comes:
/// `came` or `waits`. With `ours` as the second argument the pool is that of HRTimerExecutors.
@main
struct Program {
    /// The time to wait for an event that must come. An event that must not come gets several times `delay`, in `judge`.
    private static let patience = 20.0
    private static let delay = Duration.milliseconds(50)

    static func main() throws {
        let name = CommandLine.arguments[1]
        #if compiler(>=6.3)
        if CommandLine.arguments.dropFirst(2).contains("ours") { TimerExecutors.install() }
        #endif
        let watch = try startThread { judge(name) }
        pthread_detach(watch)
        TimerLoop.main.isKeptAlive = true
        TimerLoop.main.run()
    }

    private static let gate = DispatchSemaphore(value: 0)
    private static let came = DispatchSemaphore(value: 0)

    private static func block() { gate.wait() }

    private static func judge(_ name: String) {
        // Work that must run in the pool itself begins before the pool is blocked.
        let begun = DispatchSemaphore(value: 0)
        prepare(name, begun)
        begun.wait()
        blockPool()
        begin(name)
        let mustNot = name == "task-sleep"
        let isThere = came.wait(timeout: .now() + (mustNot ? 0.5 : patience)) == .success
        let isBlocked = isPoolBlocked()
        print(isThere ? "came" : "waits", isBlocked ? "" : "although the pool is not blocked")
        exit(0)
    }

    private static func isPoolBlocked() -> Bool {
        let ran = DispatchSemaphore(value: 0)
        Task.detached { ran.signal() }
        return ran.wait(timeout: .now() + 0.2) == .timedOut
    }

    private static func blockPool() {
        repeat {
            for _ in 0..<sysconf(Int32(_SC_NPROCESSORS_ONLN)) { Task.detached { block() } }
        } while !isPoolBlocked()
    }

    private static func prepare(_ name: String, _ begun: DispatchSemaphore) {
        guard name == "on-cancel" else {
            begun.signal()
            return
        }
        Task.detached {
            try await withTimeout(.seconds(1)) {
                await withTaskCancellationHandler {
                    begun.signal()
                    block()
                } onCancel: {
                    came.signal()
                }
            }
        }
    }

    private static func begin(_ name: String) {
        switch name {
        case "on-cancel": break
        case "handler": TimerEngine.shared.schedule(after: delay) { _ in came.signal() }
        case "source":
            let source = TimerSource(queue: DispatchQueue(label: "blocked-pool"))
            source.setEventHandler {
                source.cancel()
                came.signal()
            }
            source.schedule(deadline: .now + delay)
            source.activate()
        case "executor-sleep":
            onExecutor { try? await Task.sleep(for: delay, clock: .monotonic) }
        case "executor-timeout":
            // The operation never gets a thread.
            onExecutor { try? await withUnstructuredTimeout(delay) { block() } }
        case "task-sleep":
            Task.detached {
                try? await Task.sleep(for: delay)
                came.signal()
            }
        default: fatalError("no scenario is called \(name)")
        }
    }

    private static func onExecutor(_ body: @escaping @Sendable () async -> Void) {
        guard let executor = try? TimerExecutor() else { fatalError("no thread for an executor") }
        Task(executorPreference: executor) {
            await body()
            came.signal()
        }
    }
}
