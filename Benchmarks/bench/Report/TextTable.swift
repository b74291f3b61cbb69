// SPDX-License-Identifier: Apache-2.0
// A table as text that fits its terminal.
extension Table {
    /// Returns the titles, and then the rows. Columns that do not fit are left out, the least important first: `left` has
    /// their titles. If the first column leaves no room for the two most important others, those are below it.
    func fitted(to width: Int?, _ paint: Paint) -> (lines: [String], left: [String]) {
        let shown = shown
        let cells = rows.map { row in (remark(row) == nil ? shown : [shown[0]]).map { $0.cell(row) } }
        let layout = Layout(shown, cells, room: width ?? .max)
        var lines: [String] = []
        if shown.contains(where: { !$0.title.isEmpty }) {
            lines = layout.lines(shown.map { Cell.text($0.title) }, Paint()).map(paint.bold)
        }
        for (row, cells) in zip(rows, cells) {
            if let remark = remark(row) {
                let name = layout.isStacked ? cells[0].text : cells[0].text.padded(to: layout.widths[0])
                lines += wrapped("\(name)  \(remark)", to: width, indent: 4)
            } else {
                let note = note(row)
                lines += layout.lines(cells, paint)
                if !note.isEmpty { lines[lines.count - 1] += "  \(note)" }
            }
            lines += below(row)
        }
        let left = shown.indices.dropFirst().filter { !layout.chosen.contains($0) }.map { shown[$0].title }
        return (lines, left)
    }
}

/// Which columns of a text there is room for, and how wide they are.
private struct Layout {
    let widths: [Int]
    let isStacked: Bool
    /// The columns that are shown beside the first, or below it.
    let chosen: [Int]
    private let areLeft: [Bool]

    init<Value>(_ columns: [Column<Value>], _ rows: [[Cell]], room: Int) {
        let widths = columns.indices.map { column in
            let texts = rows.compactMap { column < $0.count ? $0[column].text.count : nil }
            // Two spaces between columns.
            return max(columns[column].title.count, texts.max() ?? 0) + (column == 0 ? 0 : 2)
        }
        let ranked = columns.indices.dropFirst().sorted { columns[$0].rank < columns[$1].rank }
        isStacked = widths[0] + ranked.prefix(2).reduce(0) { $0 + widths[$1] } > room
        var taken = isStacked ? 0 : widths[0]
        var chosen: [Int] = []
        for column in ranked {
            taken += widths[column]
            if taken > room, !chosen.isEmpty { break }
            chosen.append(column)
        }
        self.widths = widths
        self.chosen = chosen.sorted()
        areLeft = columns.map(\.isLeft)
    }

    /// Returns the line of a row, or two if it is stacked.
    func lines(_ cells: [Cell], _ paint: Paint) -> [String] {
        let first = paint(isStacked ? cells[0].text : cells[0].text.padded(to: widths[0]), cells[0].style)
        let others = chosen.map { column -> String in
            let (text, width) = (cells[column].text, widths[column])
            return paint(
                areLeft[column] ? "  " + text.padded(to: width - 2) : text.aligned(to: width),
                cells[column].style
            )
        }
        let rest = others.joined().trimmedAtEnd
        return isStacked ? [first, rest] : [rest.isEmpty ? first.trimmedAtEnd : first + rest]
    }
}
