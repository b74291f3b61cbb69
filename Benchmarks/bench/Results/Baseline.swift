// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation

/// Results that are kept by a name and their commit, for comparison with later ones.
enum Baseline {
    static let directory = ".bench"

    /// Returns the path for the result of that commit; without a commit the path has the name alone.
    static func path(_ name: String, commit: String?) -> String {
        "\(directory)/\(name)" + (commit.map { "-\($0)" } ?? "") + ".json"
    }

    /// Returns the file of that name if there is one, otherwise the latest result that was kept by the name.
    static func find(_ nameOrFile: String) throws -> String {
        if FileManager.default.fileExists(atPath: nameOrFile) { return nameOrFile }
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let kept = files.filter { $0 == "\(nameOrFile).json" || isOf($0, nameOrFile) }.map { "\(directory)/\($0)" }
        guard let latest = kept.max(by: { changed($0) < changed($1) }) else {
            throw BenchError("--baseline takes a file, or a name that --keep was given: there is no '\(nameOrFile)'")
        }
        return latest
    }

    private static func isOf(_ file: String, _ name: String) -> Bool {
        guard file.hasPrefix(name + "-"), file.hasSuffix(".json") else { return false }
        let hash = file.dropFirst(name.count + 1).dropLast(5)
        return !hash.isEmpty && hash.allSatisfy { $0.isHexDigit || $0 == "+" }
    }

    private static func changed(_ path: String) -> Date {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return attributes?[.modificationDate] as? Date ?? .distantPast
    }

    static func keep(_ json: String, as name: String, commit: String?) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Data(json.utf8).write(to: URL(fileURLWithPath: path(name, commit: commit)))
    }

    /// Parses the value of `--keep`.
    @Sendable
    static func parseName(_ text: String) throws -> String {
        guard !text.isEmpty, text.allSatisfy({ $0.isLetter || $0.isNumber || "._-".contains($0) }), text.first != "."
        else {
            throw ValidationError("it takes a name of letters, digits, '.', '_' and '-'")
        }
        return text
    }
}
