// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import Foundation

/// `bench`: how late timers fire on this machine, and what they cost.
@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures how late timers fire on this machine, and what each fire costs.",
        discussion: """
            bench                               a minute, all subjects, and in short what to use
            bench -o run.json                   and keep the result
            bench report run.json -o run.html   the result as a page
            bench compare old.json new.json     what became slower
            bench pareto run.json               exactness against its cost
            bench doctor                        what of this machine makes timers late
            bench run --why                     what made them late

            Kernel primitives, Foundation, Dispatch, Task.sleep and this library's timers, side by side in one run: \
            absolute deadlines, signed lateness, blocks of all subjects interleaved in a seeded random order. \
            `bench ops` measures what the operations on timers cost, `bench vsync` the displays that are there. \
            Results go to standard output, progress to standard error.

            Exit codes: 0 done, 1 error or a closed gate, 2 slower or over a limit (compare, check, --baseline), 3 the doctor \
            found something that makes results meaningless, 64 wrong usage, 130 interrupted.
            """,
        version:
            "swift-hrtimer bench, schema \(ResultFile.schema), \(buildName) build, Swift \(HostReport.swiftVersion), "
            + "libevent \(String(cString: cbench_libevent_version()))",
        subcommands: [
            RunCommand.self, OpsCommand.self, CrowdCommand.self, SoakCommand.self, VsyncCommand.self, ListCommand.self,
            ExplainCommand.self, DoctorCommand.self, WhyCommand.self, WhyScenarioCommand.self, CompareCommand.self,
            ParetoCommand.self, CheckCommand.self,
            ReportCommand.self, TaskSleepBlockCommand.self, LoadTimersCommand.self, MemoryBlockCommand.self,
        ],
        defaultSubcommand: RunCommand.self
    )

    /// Prints one line for each error; ArgumentParser's own main would add the usage.
    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            let code = exitCode(for: error)
            // Help and version are "errors" with a successful exit code, which print themselves to the right place.
            if code.isSuccess { exit(withError: error) }
            let message = message(for: error)
            if !message.isEmpty { StandardError.print("bench: \(message)") }
            Foundation.exit(code.rawValue)
        }
    }
}

/// Something that the machine lacks for a subject; no fault of the subject.
struct MissingHardware: Error, CustomStringConvertible {
    let description: String
}

/// An error while the bench runs, in one line for its user.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
