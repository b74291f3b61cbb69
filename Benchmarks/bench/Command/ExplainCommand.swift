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

    func validate() throws {
        guard Subject.all.contains(where: { $0.id == id }) else {
            throw ValidationError("explain takes the id of a subject, and '\(id)' is none (see bench list)")
        }
    }

    func run() throws {
        guard let subject = Subject.all.first(where: { $0.id == id }), let explanation = Explanation.of(subject) else {
            throw BenchError("'\(id)' has no explanation")
        }
        print("\(subject.id): \(subject.explanation)")
        print("  call    \(explanation.call)")
        print("  see     \(explanation.manual)")
        for (number, trap) in explanation.traps.enumerated() {
            let lines = wrapped(trap.text, width: 96)
            for (index, line) in lines.enumerated() {
                print((index == 0 ? "  trap \(number + 1)  " : "          ") + line)
            }
        }
        guard !hidesMeasurement, let shown = explanation.traps.compactMap(\.demonstration).first else { return }
        announceDebugBuild()
        print("\nmeasured here, deadlines every \(timeText(shown.interval_ns)):")
        do {
            for line in DemonstrationRun.lines(shown, try DemonstrationRun.figures(shown)) { print(line) }
        } catch {
            // Not an error of the command: it reports why there is no measurement.
            print("  not measured: \(error)")
        }
    }
}

/// Returns the text in lines of at most `width` characters, broken at spaces.
func wrapped(_ text: String, width: Int) -> [String] {
    text.split(separator: " ").reduce(into: [String]()) { lines, word in
        if let last = lines.last, last.count + 1 + word.count <= width {
            lines[lines.count - 1] = "\(last) \(word)"
        } else {
            lines.append(String(word))
        }
    }
}
