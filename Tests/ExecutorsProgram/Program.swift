import CHRTimer
import Glibc
import HRTimer
import HRTimerExecutors

/// A process whose executors are ours: one scenario a run, named on the command line, in the precision named after it. Prints
/// what went wrong, and "done" at its end.
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
        case "throws": try throwFromBody(precision)
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

    /// Inside of a task, which runs on the standard library's executors: must end the process.
    private static func installLate() {
        Task { installFromTask() }
        sleep(10)
    }

    private static func installFromTask() { TimerExecutors.install() }
    #endif
}

struct Mistake: Error {}

func expect(_ isTrue: Bool, _ what: @autoclosure () -> String, line: Int = #line) {
    if !isTrue { print("line \(line): \(what())") }
}

/// The kernel's number of the calling thread.
func here() -> Int32 { hrt_thread_id() }
