import ArgumentParser
import CBench
import Dispatch
import Foundation
import HRTimer
import HRTimerCore

/// A cause that is produced on purpose.
enum WhyScenario: String, CaseIterable, ExpressibleByArgument {
    case slowHandler = "slow-handler"
    case busyProcess = "busy-process"
    case stop
    case throttled
    case blockedQueue = "blocked-queue"
    case wallStep = "wall-step"
    case faults
    case idle
    case sum

    /// The causes to which its lateness must be attributed.
    var causes: [LatenessCause] {
        switch self {
        case .slowHandler: [.handlerBefore]
        case .busyProcess: [.runQueue, .preempted]
        case .stop: [.stopped]
        case .throttled: [.runQueue, .preempted]
        case .blockedQueue: [.delivery]
        case .wallStep: [.clockStep]
        case .faults: [.pageFault]
        case .idle: [.wakeup]
        case .sum: []
        }
    }
}

/// One cause, in the process that `bench why` starts for it. Writes the result to standard output.
struct WhyScenarioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "why-scenario", shouldDisplay: false)

    @Argument var scenario: WhyScenario
    @Option var fires: Int = 200

    func run() throws {
        let tally = WhyTally(goal: fires)
        do {
            switch scenario {
            case .slowHandler: try WhyCauses.slowHandler(tally)
            case .busyProcess: try WhyCauses.busyProcess(tally)
            case .stop: try WhyCauses.stop(tally)
            case .throttled: try WhyCauses.throttled(tally)
            case .blockedQueue: try WhyCauses.blockedQueue(tally)
            case .wallStep: try WhyCauses.wallStep(tally)
            case .faults: try WhyCauses.faults(tally)
            case .idle: try WhyCauses.idle(tally)
            case .sum: try WhyCauses.sum(tally)
            }
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
