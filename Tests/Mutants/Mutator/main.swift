// SPDX-License-Identifier: Apache-2.0
// mutator TREE NUMBERS: finds the mutants that the files of the tree's modules can have, and puts those with these numbers into them.
// Prints a line for each mutant: number, file, line, lines in the new file (0-0 if it is not there), kind, function, change, with tabs.
import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

let modules = ["HRTimerCore", "HRTimer"]

struct SourceFile {
    let path: String
    let source: [UInt8]
    let syntax: SourceFileSyntax
}

func sourceFiles(of tree: String) throws -> [SourceFile] {
    try modules.flatMap { module in
        let folder = tree + "/Sources/" + module
        let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        let own = paths.filter { $0.hasSuffix(".swift") && !$0.contains(".docc/") && $0 != "Chosen.swift" }
        return try own.sorted().map { path in
            let source = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "/" + path)))
            let parsed = Parser.parse(source: String(decoding: source, as: UTF8.self))
            let folded = OperatorTable.standardOperators.foldAll(parsed) { _ in }
            return SourceFile(
                path: "Sources/\(module)/\(path)",
                source: source,
                syntax: folded.cast(SourceFileSyntax.self)
            )
        }
    }
}

/// All mutants of all files, numbered from 1 on.
func candidates(of files: [SourceFile]) -> [[Mutant]] {
    let enums = Enums(viewMode: .sourceAccurate)
    let functions = Functions(viewMode: .sourceAccurate)
    for file in files {
        enums.walk(file.syntax)
        functions.walk(file.syntax)
    }
    var count = 0
    return files.map { file in
        Candidates(of: file.syntax, file.source, enums, functions).mutants.map { found in
            count += 1
            var mutant = found
            mutant.number = count
            return mutant
        }
    }
}

func printLine(_ mutant: Mutant, of file: SourceFile, lines: ClosedRange<Int>) {
    let columns = [
        String(mutant.number), file.path, String(mutant.line), "\(lines.lowerBound)-\(lines.upperBound)",
        mutant.kind.rawValue, mutant.function, mutant.change,
    ]
    print(columns.joined(separator: "\t"))
}

let arguments = CommandLine.arguments
guard arguments.count == 3 else { fatalError("usage: mutator TREE NUMBERS") }
let files = try sourceFiles(of: arguments[1])
let chosen = Set(arguments[2].split(separator: ",").compactMap { Int($0) })
for (file, mutants) in zip(files, candidates(of: files)) {
    var rewriting = Rewriting(file.source)
    let new = rewriting.apply(mutants.filter { chosen.contains($0.number) })
    for mutant in mutants where !chosen.contains(mutant.number) { printLine(mutant, of: file, lines: 0...0) }
    for place in rewriting.places { printLine(place.mutant, of: file, lines: place.lines) }
    if rewriting.places.isEmpty { continue }
    try Data(new).write(to: URL(fileURLWithPath: arguments[1] + "/" + file.path))
}
