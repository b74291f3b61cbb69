// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import HRTimer
import HRTimerExecutors
import HRTimerTesting
import Synchronization

// `FutureProgram PART told|nothing|any`: what users do with a part of the library that relies on Swift's runtime without a promise. No
// deadline and no sleep may be lost, whether the runtime is the known one or not; the last argument says whether the library is to tell that
// it is not.
@main struct FutureProgram {
    static let warnings = Mutex<[String]>([])

    static func main() throws {
        // Whatever waits for good ends the program.
        alarm(60)
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { fatalError("FutureProgram deadlines|virtual|executors told|nothing|any") }
        UsageWarning.handler = { warning in
            if warning.kind == .runtimeDiffers { warnings.withLock { $0.append(warning.description) } }
        }
        switch arguments[1] {
        case "deadlines": run { await deadlines() }
        case "virtual": run { try await virtualTime() }
        case "executors": try executors()
        case let unknown: fatalError("there is no part \(unknown)")
        }
        let told = warnings.withLock { $0 }
        if arguments[2] == "told" { expect(!told.isEmpty, "the library tells that it does without") }
        if arguments[2] == "nothing" { expect(told.isEmpty, "there is nothing to tell, but \(told)") }
        print("\(arguments[1]): nothing is lost; \(told.first ?? "nothing is told")")
    }

    private static func run(_ body: @escaping @Sendable () async throws -> Void) {
        let end = DispatchSemaphore(value: 0)
        Task.detached {
            do { try await body() } catch { fatalError("\(error)") }
            end.signal()
        }
        end.wait()
    }

    static func expect(_ holds: Bool, _ sentence: String) {
        if !holds { fatalError("not so: \(sentence)") }
    }
}

// Deadlines.
extension FutureProgram {
    /// Each in a task of its own: a deadline may cancel that for good.
    private static func deadlines() async {
        for _ in 1...3 {
            await bounded("an operation") { try await withTimeout(.milliseconds(20)) { try await sleepLong() } }
            await bounded("an outer deadline") {
                try await withTimeout(.milliseconds(20)) {
                    try await withTimeout(.seconds(40)) { try await sleepLong() }
                }
            }
            await bounded("an inner deadline") {
                try await withTimeout(.seconds(40)) {
                    try await withTimeout(.milliseconds(20)) { try await sleepLong() }
                }
            }
            await bounded("a deadline in Task {}") {
                try await withTimeout(.seconds(40)) {
                    try await Task { try await withTimeout(.milliseconds(20)) { try await sleepLong() } }.value
                }
            }
            await bounded("a deadline in the body of a group, to which the operation adds a task") {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    try await withTimeout(.milliseconds(20)) {
                        group.addTask { try await sleepLong() }
                        try await sleepLong()
                    }
                }
            }
            let value = await Task.detached { try? await withTimeout(.seconds(40)) { 7 } }.value
            expect(value == 7, "an operation that ends in time returns")
        }
    }

    private static func sleepLong() async throws { try await MonotonicClock().sleep(for: .seconds(50)) }

    private static func bounded(_ what: String, _ body: @escaping @Sendable () async throws -> Void) async {
        let start = MonotonicInstant.now
        let ended = await Task.detached {
            do {
                try await body()
                return false
            } catch {
                return true
            }
        }.value
        let taken = start.duration(to: .now)
        expect(
            ended && taken >= .milliseconds(20) && taken < .seconds(30),
            "\(what) ends after its 20 ms; it took \(taken)"
        )
    }
}

// Virtual time.
extension FutureProgram {
    private static func virtualTime() async throws {
        let start = MonotonicInstant.now
        let hours = try await withManualTime { time in
            let clock = MonotonicClock()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for hour in 1...10 { group.addTask { try await clock.sleep(for: .seconds(3600 * hour)) } }
                try await group.waitForAll()
            }
            try await withTimeout(.seconds(40)) { await Task { try? await clock.sleep(for: .milliseconds(50)) }.value }
            return time.now.nanoseconds / 3_600_000_000_000
        }
        expect(hours == 10, "ten hours of virtual time pass, not \(hours)")
        expect(start.duration(to: .now) < .seconds(30), "in no time")
    }
}

// Executors.
extension FutureProgram {
    private static func executors() throws {
        try TimerExecutors.run {
            for length in [20, 5, 0] {
                let deadline = ContinuousClock.now + .milliseconds(length)
                try await Task.sleep(until: deadline, clock: .continuous)
                expect(ContinuousClock.now >= deadline, "no sleep is early")
            }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let deadline = SuspendingClock.now + .milliseconds(number % 10)
                        try? await Task.sleep(until: deadline, clock: .suspending)
                        expect(SuspendingClock.now >= deadline, "no sleep is early")
                    }
                }
            }
        }
        expect(TimerExecutors.pendingSleeps == 0, "no sleep is left")
    }
}
