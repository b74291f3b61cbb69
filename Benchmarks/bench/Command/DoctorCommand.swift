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

    @Option(help: "text or json.")
    var format: DoctorFormat = .text

    @Option(help: "Colour the text: auto, always, never.")
    var color: ColorChoice = .auto

    func run() throws {
        let doctor = Doctor.examine()
        let output = ReportOutput.standard()
        switch format {
        case .text:
            let isColoured = ReportShape(formats: [], color: color).isColoured(output)
            try output.write(doctor.text(tellsAll: tellsAll, isColoured: isColoured))
        case .json:
            let value: JSONValue = [
                "schema": .integer(1), "build": .string(buildName), "is_blocked": .bool(doctor.isBlocked),
                "doctor": doctor.json,
            ]
            try output.write(value.text() + "\n")
        }
        if doctor.isBlocked { throw ExitCode(3) }
    }
}

/// The format in which the doctor writes.
enum DoctorFormat: String, CaseIterable, ExpressibleByArgument {
    case text, json
}
