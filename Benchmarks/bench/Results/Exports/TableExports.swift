// SPDX-License-Identifier: Apache-2.0
/// Tables for other programs, and for pages.
enum TableExports {
    /// Returns RFC 4180 with a line for each subject or operation; times are in ns, and unknown values are empty.
    static func csv(_ file: ResultFile) -> String {
        file.rows.isEmpty ? Table.operations(file.operations).csv : Table.latencies(file.rows).csv
    }

    /// Returns tables for a README or a pull request, with the host and the command above them.
    static func markdown(_ file: ResultFile) -> String {
        var lines = file.host.lines.prefix(3).map { "* \($0.title): \($0.text)" }
        if !file.command.isEmpty { lines.append("* command: `\(file.commandText)`, build: \(file.build)") }
        for interval_ns in file.intervals_ns {
            var table = Table.latencies(file.rows(at: interval_ns))
            table.columns.removeAll { $0.rank > 8 && $0.title != "fires" }
            lines += ["", "Lateness every \(timeText(interval_ns)):", ""] + table.markdown
        }
        if !file.operations.isEmpty { lines += [""] + Table.operations(file.operations).markdown }
        return lines.joined(separator: "\n") + "\n"
    }
}
