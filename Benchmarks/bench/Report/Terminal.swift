// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The terminal that a report is written to.
enum Terminal {
    /// The columns of standard output; nil if it is no terminal, where lines may have any length.
    static var width: Int? {
        guard isTerminal(STDOUT_FILENO) else { return nil }
        var size = winsize()
        if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        return environment("COLUMNS").flatMap { Int($0) } ?? 80
    }
}

/// Breaks a sentence at spaces into lines of at most `width` characters; lines after the first are indented.
func wrapped(_ text: String, to width: Int?, indent: Int = 2) -> [String] {
    guard let width, text.count > width else { return [text] }
    var lines: [String] = []
    // The text's own indentation stays.
    var line = String(text.prefix { $0 == " " })
    var isEmpty = true
    for word in text.split(separator: " ") {
        if !isEmpty, line.count + 1 + word.count > width {
            lines.append(line)
            line = String(repeating: " ", count: indent)
            isEmpty = true
        }
        line += (isEmpty ? "" : " ") + word
        isEmpty = false
    }
    return lines + [line]
}
