// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A result in any format. All formats except text are made from its JSON.
struct Rendering {
    /// The result's name in error messages.
    let name: String
    let json: String
    /// Returns the text for the screen, or for a file.
    let text: (_ isScreen: Bool) throws -> String
    /// The picture of a command that has one of its own.
    var picture: (() -> String)?
    /// Whether a subject is shown.
    var isShown: (ResultRow) -> Bool = { _ in true }

    func text(of format: ReportFormat, isScreen: Bool) throws -> String {
        switch format {
        case .text: return try text(isScreen)
        case .json: return json
        case .markdown: return TableExports.markdown(try file())
        case .csv: return TableExports.csv(try file())
        case .svg: return try picture?() ?? PercentileChart.standalone(latencies())
        case .html: return HTMLReport(file: try file(), json: json).text
        case .hgrm:
            let rows = try latencies().rows.filter { $0.fires > 0 }
            guard rows.count == 1 else {
                throw BenchError(
                    "hgrm has a file for each subject, and there are \(rows.count): say -o DIRECTORY, or --only"
                )
            }
            return HdrText.percentiles(rows[0])
        }
    }

    /// Writes a `.hgrm` file for each subject into a directory, and creates the directory if it is missing.
    func writePercentiles(into directory: String) throws {
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        } catch {
            throw BenchError("-o takes a directory for hgrm; '\(directory)' cannot be made")
        }
        for row in try latencies().rows where row.fires > 0 {
            try ReportOutput.file("\(directory)/\(row.name).hgrm").write(HdrText.percentiles(row))
        }
    }

    func file() throws -> ResultFile {
        if !json.contains("\"results\"") {
            throw BenchError("\(name) is no list of subjects: it has text and json, and no other format")
        }
        return try ResultFile.parse(Data(json.utf8), name: name).filtered(isShown)
    }

    private func latencies() throws -> ResultFile {
        let file = try file()
        if file.rows.allSatisfy({ $0.fires == 0 }) { throw BenchError("\(name) has no latencies to show") }
        return file
    }
}
