// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The format of the results for each destination.
struct Routing: Equatable {
    struct File: Equatable {
        let path: String
        let format: ReportFormat
    }

    /// The format for standard output; nil if nothing is written there.
    let standard: ReportFormat?
    let files: [File]

    init(standard: ReportFormat?, files: [File]) {
        self.standard = standard
        self.files = files
    }

    /// A file has the format of its name's extension, or else the next named format that is not text, or else JSON (text if
    /// only text is named). A named format without a file goes to standard output. If no format is named, text goes there.
    init(formats: [ReportFormat], files paths: [String]) throws {
        var waiting = formats.reduce(into: [ReportFormat]()) { if !$0.contains($1) { $0.append($1) } }
        var files: [File] = []
        for path in paths {
            let next = waiting.first { $0 != .text } ?? (formats == [.text] ? .text : .json)
            let format = ReportFormat(path: path) ?? next
            waiting.removeAll { $0 == format }
            files.append(File(path: path, format: format))
        }
        guard waiting.count <= 1 else {
            let names = waiting.map(\.rawValue).joined(separator: " and --format ")
            throw ValidationError("--format \(names) take -o FILE too: standard output takes one shape")
        }
        standard = formats.isEmpty ? .text : waiting.first
        self.files = files
    }
}

/// The open files of a routing.
final class ReportOutputs {
    let routing: Routing
    /// Nil for a format with a file for each subject, whose path is a directory.
    private let files: [ReportOutput?]

    init(_ routing: Routing) throws {
        self.routing = routing
        files = try routing.files.map { $0.format == .hgrm ? nil : try ReportOutput.file($0.path) }
    }

    /// Writes the result in all requested formats.
    func write(_ rendering: Rendering) throws {
        if let format = routing.standard {
            try ReportOutput.standard().write(rendering.text(of: format, isScreen: true))
        }
        for (file, output) in zip(routing.files, files) {
            if let output {
                try output.write(rendering.text(of: file.format, isScreen: false))
            } else {
                try rendering.writePercentiles(into: file.path)
            }
        }
    }
}
