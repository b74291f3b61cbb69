/// A table that fits its terminal. Columns that do not fit are left out, the least important first. If a name leaves no
/// room for the two most important columns, the figures are below it.
struct TextTable {
    struct Column {
        let title: String
        /// 0 is the most important.
        let rank: Int
    }

    struct Row {
        let name: String
        let cells: [String]
        /// Text in place of cells.
        var remark: String?
        /// The columns whose cell is highlighted.
        var alarms: Set<Int> = []
    }

    let nameTitle: String
    let columns: [Column]
    let rows: [Row]
    var paint: (String, _ isAlarm: Bool) -> String = { text, _ in text }

    /// Returns the titles, and then the rows. `left` has the titles of the columns that had no room.
    func lines(width: Int?) -> (lines: [String], left: [String]) {
        let nameWidth = ([nameTitle] + rows.map(\.name)).map(\.count).max() ?? 0
        let widths = columns.indices.map { column in
            ([columns[column].title] + rows.compactMap { $0.remark == nil ? $0.cells[column] : nil }).map(\.count)
                .max()! + 2
        }
        let room = width ?? .max
        let ranked = columns.indices.sorted { columns[$0].rank < columns[$1].rank }
        let isStacked = nameWidth + ranked.prefix(2).reduce(0) { $0 + widths[$1] } > room
        let shown = fitting(ranked, widths, in: room - (isStacked ? 0 : nameWidth))
        let indent = isStacked ? "" : nameTitle.padded(to: nameWidth)
        let head = indent + shown.map { columns[$0].title.aligned(to: widths[$0]) }.joined()
        var lines = [paint(isStacked ? nameTitle : head, false)] + (isStacked ? [paint(head, false)] : [])
        for row in rows {
            if let remark = row.remark {
                lines += wrapped(row.name.padded(to: isStacked ? 0 : nameWidth) + "  " + remark, to: width, indent: 4)
                continue
            }
            let cells = shown.map { column in
                let cell = row.cells[column].aligned(to: widths[column])
                return row.alarms.contains(column) ? paint(cell, true) : cell
            }
            .joined()
            lines += isStacked ? [row.name, cells] : [row.name.padded(to: nameWidth) + cells]
        }
        let left = columns.indices.filter { !shown.contains($0) }.map { columns[$0].title }
        return (lines, left)
    }

    /// Returns the columns for which there is room, chosen by rank, in the order of the table. At least one.
    private func fitting(_ ranked: [Int], _ widths: [Int], in room: Int) -> [Int] {
        var taken = 0
        var shown: [Int] = []
        for column in ranked {
            taken += widths[column]
            if taken > room, !shown.isEmpty { break }
            shown.append(column)
        }
        return shown.sorted()
    }
}
