// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// `bench explain`: a subject's call, its traps, and a short measurement that shows them.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explains a subject: its call, man page and traps, and shows the first trap by a short measurement."
    )

    @Argument(help: "The id of a subject (see bench list).")
    var id: String

    @Flag(name: .customLong("no-measure"), help: "Explain without measuring.")
    var hidesMeasurement = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard Subject.all.contains(where: { $0.id == id }) else {
            throw ValidationError("explain takes the id of a subject, and '\(id)' is none (see bench list)")
        }
    }

    func run() throws {
        guard let subject = Subject.all.first(where: { $0.id == id }), let explanation = Explanation.of(subject) else {
            throw BenchError("'\(id)' has no explanation")
        }
        let outputs = try common.open()
        let measured = hidesMeasurement ? [] : measure(explanation)
        let json: JSONValue = [
            "id": .string(subject.id), "explanation": .string(subject.explanation),
            "call": .string(explanation.call), "manual": .string(explanation.manual),
            "traps": .array(explanation.traps.map { .string($0.text) }),
        ]
        let head = [
            "\(subject.id): \(subject.explanation)", "  call    \(explanation.call)",
            "  see     \(explanation.manual)",
        ]
        let traps = explanation.traps.enumerated().flatMap { number, trap in
            wrapped(trap.text, to: 96, indent: 0).enumerated().map { line, text in
                (line == 0 ? "  trap \(number + 1)  " : "          ") + text
            }
        }
        let text = (head + traps + measured).joined(separator: "\n") + "\n"
        try outputs.write(common.rendering(json) { _ in text })
    }

    /// Returns the table of the first trap that is shown by a measurement.
    private func measure(_ explanation: Explanation) -> [String] {
        guard let shown = explanation.traps.compactMap(\.shown).first else { return [] }
        announceDebugBuild()
        let head = ["", "measured here, deadlines every \(timeText(shown.interval_ns)):"]
        let name = id.matches(explanation.pattern) ? id : id.withoutSlack
        do { return head + (try shown.table(name).lines().map { "  " + $0 }) } catch {
            // Not an error of the command: it reports why there is no measurement.
            return head + ["  not measured: \(error)"]
        }
    }
}
