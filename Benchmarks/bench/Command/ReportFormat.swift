// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// A format in which results are written.
enum ReportFormat: String, CaseIterable {
    case text, markdown, json, csv, hgrm, svg, html

    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

    /// Returns the format that a file name's extension stands for.
    init?(path: String) {
        guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else { return nil }
        switch path[path.index(after: dot)...].lowercased() {
        case "txt": self = .text
        case "md": self = .markdown
        case let ending: self.init(rawValue: ending)
        }
    }
}

/// When text is coloured.
enum ColorChoice: String, CaseIterable, ExpressibleByArgument {
    case auto, always, never
}

/// Parses the value of `--format`.
@Sendable
func parseFormat(_ text: String) throws -> ReportFormat {
    guard let format = ReportFormat(rawValue: text) else { throw ValidationError("it takes \(ReportFormat.names)") }
    return format
}
