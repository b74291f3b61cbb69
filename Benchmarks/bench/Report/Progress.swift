// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The progress of the run, on standard error, between blocks.
///
/// On a terminal it is one line that is overwritten using only a carriage return, also where colours are not wanted.
/// Elsewhere it is a plain line for each tenth.
final class Progress {
    enum Style {
        case hidden, lines, bar
    }

    private let style: Style
    private let start = ContinuousClock.now
    private var tenthsShown = 0
    private var width = 0

    init(_ style: Style) {
        self.style = style
    }

    /// Returns the style that suits standard error.
    static func style(isHidden: Bool) -> Style {
        if isHidden { return .hidden }
        return isTerminal(STDERR_FILENO) ? .bar : .lines
    }

    func show(done: Int, of total: Int, _ next: String) {
        switch style {
        case .hidden:
            return
        case .lines:
            let tenths = done * 10 / total
            guard tenths > tenthsShown else { return }
            tenthsShown = tenths
            StandardError.print("bench: \(tenths * 10) % done\(left(done, total))")
        case .bar:
            let filled = done * 30 / total
            let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: 30 - filled)
            let line = "[\(bar)] \(done)/\(total) blocks\(left(done, total))  \(next)"
            StandardError.write("\r" + line.padded(to: width))
            width = line.count
        }
    }

    /// Clears the line for what is written next.
    func finish() {
        if style == .bar { StandardError.write("\r" + String(repeating: " ", count: width) + "\r") }
    }

    private func left(_ done: Int, _ total: Int) -> String {
        guard done > 0 else { return "" }
        let seconds = Int(((ContinuousClock.now - start) * (total - done) / done).components.seconds) + 1
        return ", \(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60) left"
    }
}
