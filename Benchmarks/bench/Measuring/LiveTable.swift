import Glibc
import HRTimerCore

/// A table of all subjects so far, on standard error, which each round overwrites. Shows nothing if that is not a terminal.
final class LiveTable {
    private let isShown: Bool
    private var lines = 0

    init(isHidden: Bool) {
        isShown = !isHidden && isTerminal(STDERR_FILENO)
    }

    func show(_ results: [SubjectResult], round: Int, of rounds: Int) {
        guard isShown else { return }
        clear()
        let size = Self.terminalSize()
        let table = Self.table(results, round: round, of: rounds, width: size.columns, height: size.rows)
        // The line below the table belongs to the progress.
        StandardError.write("\r\u{1b}[K" + table.joined(separator: "\n") + "\n")
        lines = table.count
    }

    /// Removes the table, and puts the cursor back to where it began.
    func clear() {
        if lines > 0 { StandardError.write("\r\u{1b}[\(lines)A\u{1b}[J") }
        lines = 0
    }

    /// Returns at most `height` lines less one for the progress, and no line longer than `width`.
    static func table(
        _ results: [SubjectResult],
        round: Int,
        of rounds: Int,
        width: Int,
        height: Int
    ) -> [String] {
        let titles = ["p50", "p99", "max", "CPU/fire", "missed"]
        let shown = titles.prefix(max(1, min(titles.count, (width - 20) / 10)))
        let idWidth = max(10, min(results.map(\.subject.id.count).max() ?? 0, width - shown.count * 10 - 1))
        let head = "after \(round) of \(rounds) rounds".padded(to: idWidth)
        let rows = results.map { result in
            let lateness = result.lateness
            let cells = [
                lateness.value_ns(at: .p50).map { timeText($0) },
                lateness.value_ns(at: .p99).map { timeText($0) },
                lateness.max_ns.map { timeText($0) },
                result.usage.cpuPerFire_ns.map { timeText($0) },
                lateness.count > 0 ? result.missed.grouped : nil,
            ]
            return String(result.subject.id.prefix(idWidth)).padded(to: idWidth)
                + cells.prefix(shown.count).map { ($0 ?? "–").aligned(to: 10) }.joined()
        }
        let room = max(1, height - 3)
        let fitting = rows.count <= room ? rows : rows.prefix(room - 1) + ["… \(rows.count - room + 1) more"]
        return ([head + shown.map { $0.aligned(to: 10) }.joined()] + fitting).map {
            String($0.prefix(max(1, width - 1)))
        }
    }

    private static func terminalSize() -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
