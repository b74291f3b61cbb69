// mutator TREE N SEED DROPPED: puts N mutants, chosen by SEED, into the files of the tree's modules, but for those whose numbers
// are in DROPPED, with commas. Prints a line for each: number, file, line, lines in the new file, kind, function, change, with tabs.
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

/// SplitMix64, so that a seed means the same mutants everywhere.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// All mutants of all files, numbered from 1 on.
func candidates(of files: [SourceFile]) -> [[Mutant]] {
    let enums = Enums(viewMode: .sourceAccurate)
    for file in files { enums.walk(file.syntax) }
    var count = 0
    return files.map { file in
        Candidates(of: file.syntax, file.source, enums).mutants.map { found in
            count += 1
            var mutant = found
            mutant.number = count
            return mutant
        }
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 5, let wanted = Int(arguments[2]), let seed = UInt64(arguments[3]) else {
    fatalError("usage: mutator TREE N SEED DROPPED")
}
let files = try sourceFiles(of: arguments[1])
let mutants = candidates(of: files)
var generator = SeededGenerator(state: seed)
let shuffled = mutants.joined().map(\.number).shuffled(using: &generator)
let chosen = Set(shuffled.prefix(wanted)).subtracting(arguments[4].split(separator: ",").compactMap { Int($0) })
print("candidates\t\(shuffled.count)")
for (file, mutants) in zip(files, mutants) {
    var rewriting = Rewriting(file.source)
    let new = rewriting.apply(mutants.filter { chosen.contains($0.number) })
    if rewriting.places.isEmpty { continue }
    try Data(new).write(to: URL(fileURLWithPath: arguments[1] + "/" + file.path))
    for place in rewriting.places {
        let mutant = place.mutant
        let lines = "\(place.lines.lowerBound)-\(place.lines.upperBound)"
        let columns = [
            String(mutant.number), file.path, String(mutant.line), lines, mutant.kind.rawValue, mutant.function,
            mutant.change,
        ]
        print(columns.joined(separator: "\t"))
    }
}
