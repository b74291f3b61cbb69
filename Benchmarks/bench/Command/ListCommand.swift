import ArgumentParser

/// `bench list`: what can be measured.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the subjects: an id for --only and --skip, and what it does."
    )

    func run() {
        let width = Subject.all.map(\.id.count).max() ?? 0
        for subject in Subject.all {
            print(subject.id.padded(to: width) + "  " + subject.explanation)
        }
    }
}
