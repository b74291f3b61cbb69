// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import Dispatch
import Foundation
import HRTimer
import HRTimerCore

/// A cause that is produced on purpose: a row of the table of scenarios.
struct WhyScenario: ExpressibleByArgument, Sendable {
    let name: String
    /// The causes to which its lateness must be attributed; none if only the sum is checked.
    let causes: [LatenessCause]
    let make: @Sendable (WhyTally) throws -> Void

    static let all = [
        WhyScenario(name: "slow-handler", causes: [.handlerBefore], make: WhyCauses.slowHandler),
        WhyScenario(name: "busy-process", causes: [.runQueue, .preempted], make: WhyCauses.busyProcess),
        WhyScenario(name: "stop", causes: [.stopped], make: WhyCauses.stop),
        WhyScenario(name: "throttled", causes: [.runQueue, .preempted], make: WhyCauses.throttled),
        WhyScenario(name: "blocked-queue", causes: [.delivery], make: WhyCauses.blockedQueue),
        WhyScenario(name: "wall-step", causes: [.clockStep], make: WhyCauses.wallStep),
        WhyScenario(name: "faults", causes: [.pageFault], make: WhyCauses.faults),
        WhyScenario(name: "idle", causes: [.wakeup], make: WhyCauses.idle),
        WhyScenario(name: "sum", causes: [], make: WhyCauses.sum),
    ]

    private init(name: String, causes: [LatenessCause], make: @escaping @Sendable (WhyTally) throws -> Void) {
        self.name = name
        self.causes = causes
        self.make = make
    }

    init?(argument: String) {
        guard let scenario = Self.all.first(where: { $0.name == argument }) else { return nil }
        self = scenario
    }

    static var allValueStrings: [String] { all.map(\.name) }
}

/// One cause, in the process that `bench why` starts for it. Writes the result to standard output.
struct WhyScenarioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "why-scenario", shouldDisplay: false)

    @Argument var scenario: WhyScenario
    @Option var fires: Int = 200

    func run() throws {
        let tally = WhyTally(goal: fires)
        do {
            try scenario.make(tally)
        } catch let missing as MissingHardware {
            tally.isMissing("\(missing)")
        }
        FileHandle.standardOutput.write(try JSONEncoder().encode(tally.outcome))
    }
}

/// Counts the reports of one cause, and compares each with what the late handler saw.
final class WhyTally: Sendable {
    private struct State: Sendable {
        var outcome = WhyOutcome()
        var seen: [TimerToken: (deadline_ns: Int64, lateness_ns: Int64)] = [:]
    }

    private let goal: Int
    private let state = Locked(State())
    private let filled = DispatchSemaphore(value: 0)

    init(goal: Int) { self.goal = goal }

    var isFull: Bool { state.withLock { [goal] in $0.outcome.late >= goal } }

    var outcome: WhyOutcome { state.withLock { $0.outcome } }

    func isMissing(_ reason: String) { state.withLock { $0.outcome.missing = reason } }

    /// Records a handler's call.
    func see(_ fire: TimerFire) {
        let lateness_ns = fire.lateness.nanosecondsRoundedUp
        state.withLock { $0.seen[fire.token] = (fire.deadline.nanoseconds, lateness_ns) }
    }

    func count(_ report: LatenessReport) {
        let isLast = state.withLock { state -> Bool in
            guard state.outcome.late < goal else { return false }
            state.outcome.late += 1
            let lateness_ns = report.lateness.nanosecondsRoundedUp
            state.outcome.lateness_ns += lateness_ns
            var sum_ns: Int64 = 0
            for (cause, part) in report.byCause {
                let part_ns = part.nanosecondsRoundedUp
                state.outcome.parts_ns[cause.rawValue, default: 0] += part_ns
                sum_ns += part_ns
            }
            if report.isThrottled { state.outcome.throttled += 1 }
            var expected_ns = lateness_ns
            if let timer = report.timer, let seen = state.seen[timer], seen.deadline_ns == report.deadline.nanoseconds {
                expected_ns = seen.lateness_ns
            }
            if abs(sum_ns - expected_ns) > 2_000 || abs(lateness_ns - expected_ns) > 2_000 { state.outcome.wrong += 1 }
            return state.outcome.late == goal
        }
        if isLast { filled.signal() }
    }

    /// Waits until the requested number of fires were late, or until the timeout.
    func wait(seconds: Int = 120) { _ = filled.wait(timeout: .now() + .seconds(seconds)) }
}
