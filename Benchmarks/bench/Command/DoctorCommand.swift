// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// `bench doctor`: the properties of this machine that make timers late.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Examines what makes timers late on this machine, and changes nothing.",
        discussion: """
            Each check has a value, a verdict, why it matters to timers and, where there is one, a fix of one line. \
            ok: as good as it gets. info: worth knowing. warn: timers are later than they need be. bad: results from here \
            mean nothing.

            Exit codes: 0 nothing is bad, 3 something is, 64 wrong usage.
            """
    )

    @Flag(name: .customLong("all"), help: "Say of every check why it matters, also where nothing is wrong.")
    var tellsAll = false

    @OptionGroup var common: CommonOptions

    func run() throws {
        let outputs = try common.open()
        let doctor = Doctor.examine()
        try outputs.write(common.rendering(doctor.report(tellsAll: tellsAll)))
        if doctor.isBlocked { throw ExitCode(3) }
    }
}
