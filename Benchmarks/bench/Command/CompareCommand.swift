// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// `bench compare`: what changed between two results.
struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Says of each subject of two results whether it became faster, slower, is the same, or is unclear.",
        discussion: """
            Blocks of the same round are paired, and the difference is judged by their signed ranks, against what \
            the runs differ by without any reason. Measure both with the same options and the same --seed. A machine's mood \
            changes within minutes: Benchmarks/compare-builds measures two builds in turn, and compares all their results.

            Results of bench ops are paired in their order; a verdict needs nine of each, and rivals in them show what \
            is noise.

            Exit codes: 0 nothing is slower, 1 a file cannot be read, or the builds or --work differ, 2 something is slower, \
            64 wrong usage.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A result from before and one to judge; or several of each that were measured in turn, those from before first.",
            valueName: "files"
        )
    )
    var files: [String]

    func validate() throws {
        if files.isEmpty || files.count % 2 != 0 {
            throw ValidationError(
                "compare takes two results, or as many from before as to judge: it got \(files.count)"
            )
        }
    }

    @OptionGroup var common: CommonOptions

    func run() throws {
        let outputs = try common.open()
        let read = try files.map { try ResultFile.read($0) }
        let before = Array(read.prefix(read.count / 2))
        let after = Array(read.suffix(read.count / 2))
        let slower: Int
        if read.allSatisfy({ !$0.operations.isEmpty }) {
            let changes = try OperationChanges(before: before, after: after)
            slower = changes.count(.slower)
            try outputs.write(common.rendering(changes.report))
        } else {
            let comparison = try Comparison(before: .joined(before), after: .joined(after))
            slower = comparison.count(.slower)
            try outputs.write(common.rendering(comparison.report))
        }
        if slower > 0 { throw ExitCode(2) }
    }
}
