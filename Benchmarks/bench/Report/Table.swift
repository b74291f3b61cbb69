// SPDX-License-Identifier: Apache-2.0
/// A column of a table. People see it under its title, programs under its key; without one of them it is not for those.
struct Column<Value> {
    let title: String
    var key: String?
    /// How soon it is left out where there is no room; 0 is the most important.
    var rank = 0
    var isLeft = false
    /// For the legend.
    var meaning = ""
    let cell: (Value) -> Cell

    init(
        _ title: String,
        _ key: String? = nil,
        rank: Int = 0,
        isLeft: Bool = false,
        meaning: String = "",
        cell: @escaping (Value) -> Cell
    ) {
        self.title = title
        self.key = key
        self.rank = rank
        self.isLeft = isLeft
        self.meaning = meaning
        self.cell = cell
    }
}

extension Column where Value == [String] {
    /// Returns columns for rows that are texts already, the first column's on the left.
    static func texts(_ titles: [String]) -> [Column] {
        titles.enumerated().map { number, title in
            Column(title, rank: number, isLeft: number == 0) { .text(number < $0.count ? $0[number] : "") }
        }
    }
}

/// Values in rows, with a column for each of their properties. All tables of the bench are such ones.
struct Table<Value> {
    var columns: [Column<Value>]
    var rows: [Value]
    /// A text in place of all cells but the first.
    var remark: (Value) -> String? = { _ in nil }
    /// A text behind the cells, for lines of any length.
    var note: (Value) -> String = { _ in "" }
    /// Lines below the row.
    var below: (Value) -> [String] = { _ in [] }

    /// The columns for people: those with a title, and names, which need none.
    var shown: [Column<Value>] { columns.filter { !$0.title.isEmpty || $0.isLeft } }
    private var keyed: [(key: String, cell: (Value) -> Cell)] {
        columns.compactMap { column in column.key.map { ($0, column.cell) } }
    }

    /// Returns the lines of text, however long.
    func lines(_ paint: Paint = Paint()) -> [String] { fitted(to: nil, paint).lines }
}

// For programs.
extension Table {
    var json: JSONValue {
        .array(rows.map { row in .members(keyed.map { ($0.key, $0.cell(row).value) }) })
    }

    /// RFC 4180; values that are not known are empty.
    var csv: String {
        let lines = rows.map { row in keyed.map { Self.quoted($0.cell(row).value) }.joined(separator: ",") }
        return ([keyed.map(\.key).joined(separator: ",")] + lines).joined(separator: "\r\n") + "\r\n"
    }

    private static func quoted(_ value: JSONValue) -> String {
        guard case .string(let text) = value else { return value == .null ? "" : value.text() }
        let isPlain = !text.contains { $0 == "," || $0 == "\"" || $0.isNewline }
        return isPlain ? text : "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}

// For pages.
extension Table {
    /// Lines of Markdown. Texts on the left are names, and set as code.
    var markdown: [String] {
        func escaped(_ text: String) -> String { text.replacing("|", with: "\\|") }
        let head = ["| " + shown.map(\.title).joined(separator: " | ") + " |"]
        let rule = ["| " + shown.map { $0.isLeft ? "---" : "---:" }.joined(separator: " | ") + " |"]
        return head + rule
            + rows.map { row in
                let cells = shown.map { $0.isLeft ? "`\($0.cell(row).text)`" : escaped($0.cell(row).text) }
                if let remark = remark(row) { return "| \(cells[0]) | \(escaped(remark)) |" }
                return "| \(cells.joined(separator: " | ")) |"
            }
    }

    /// A table of HTML that can be sorted by each column.
    var html: String {
        let head = shown.map { column in
            let meaning = column.meaning.isEmpty ? "" : " title=\"\(SVG.escaped(column.meaning))\""
            return "<th\(meaning)><button>\(SVG.escaped(column.title))</button></th>"
        }
        let lines = rows.map { row -> String in
            let cells = shown.map { $0.cell(row) }
            let mark = cells[0].mark.map { "<i style=\"background:var(--c\($0 % 10))\"></i>" } ?? ""
            let name = "<th scope=\"row\">\(mark)\(SVG.escaped(cells[0].text))</th>"
            if let remark = remark(row) {
                return
                    "<tr>\(name)<td class=\"faint left\" colspan=\"\(shown.count - 1)\">\(SVG.escaped(remark))</td></tr>"
            }
            return "<tr>\(name)\(zip(shown, cells).dropFirst().map { $1.html(isLeft: $0.isLeft) }.joined())</tr>"
        }
        return "<div class=\"scroll\"><table><thead><tr>\(head.joined())</tr></thead>"
            + "<tbody>\(lines.joined(separator: "\n"))</tbody></table></div>"
    }
}

extension Cell {
    fileprivate func html(isLeft: Bool) -> String {
        let place = isLeft ? " class=\"left\"" : style == nil ? "" : " class=\"alarm\""
        let small = more.isEmpty ? "" : " <small class=\"faint\">\(more)</small>"
        if case .string = value { return "<td\(place)>\(SVG.escaped(text))</td>" }
        return "<td data-value=\"\(value == .null ? "" : value.text())\"\(place)>\(SVG.escaped(text))\(small)</td>"
    }
}
