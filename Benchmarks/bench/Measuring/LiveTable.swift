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
        // Room for two figures.
        let nameWidth = max(8, width - 22)
        let table = Table<SubjectResult>(
            columns: [
                Column("after \(round) of \(rounds) rounds", isLeft: true) {
                    .text(String($0.subject.id.prefix(nameWidth)))
                },
                Column("p50", rank: 0) { .time($0.lateness.value_ns(at: .p50)) },
                Column("p99", rank: 1) { .time($0.lateness.value_ns(at: .p99)) },
                Column("max", rank: 2) { .time($0.lateness.max_ns) },
                Column("CPU/fire", rank: 3) { .time($0.usage.cpuPerFire_ns) },
                Column("missed", rank: 4) { .count($0.lateness.count > 0 ? $0.missed : nil) },
            ],
            rows: results
        )
        let lines = table.fitted(to: width - 1, Paint(), mayStack: false).lines
        let room = max(1, height - 3)
        let left = results.count > room ? ["… \(results.count - room + 1) more"] : []
        return (lines.prefix(room + 1 - left.count) + left).map { String($0.prefix(max(1, width - 1))) }
    }

    private static func terminalSize() -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
