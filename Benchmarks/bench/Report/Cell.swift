// SPDX-License-Identifier: Apache-2.0
/// One cell of a table: a text for people, and a value for programs and for sorting.
struct Cell: Sendable {
    let text: String
    let value: JSONValue
    /// Shown behind the text in small letters, on a page.
    var more = ""
    var style: Paint.Style?
    /// The number of the colour of a mark in front of the text, on a page.
    var mark: Int?

    init(_ text: String?, _ value: JSONValue, more: String = "", style: Paint.Style? = nil, mark: Int? = nil) {
        self.text = text ?? "–"
        self.value = value
        self.more = more
        self.style = style
        self.mark = mark
    }

    static func text(_ text: String?, style: Paint.Style? = nil, mark: Int? = nil) -> Cell {
        Cell(text, JSONValue(text), style: style, mark: mark)
    }

    static func count(_ count: Int?, style: Paint.Style? = nil) -> Cell {
        Cell(count?.grouped, JSONValue(count), style: style)
    }

    static func count(_ count: UInt64) -> Cell { .count(Int(clamping: count)) }

    static func time(_ time_ns: Int64?, within ends: [Int64]? = nil) -> Cell {
        Cell(time_ns.map { timeText($0) }, JSONValue(time_ns), more: span(ends?.map(Double.init)))
    }

    static func time(_ time_ns: Double?, within ends: [Double]? = nil) -> Cell {
        Cell(time_ns.map { timeText($0) }, JSONValue(time_ns), more: span(ends))
    }

    static func number(_ number: Double?, decimals: Int) -> Cell {
        Cell(number?.formatted(decimals: decimals), JSONValue(number))
    }

    static func share(_ share: Double?) -> Cell { Cell(share.map(percentText), JSONValue(share)) }

    private static func span(_ ends_ns: [Double]?) -> String {
        ends_ns.map { "\(timeText($0[0]))…\(timeText($0[1]))" } ?? ""
    }
}

/// Returns a share, 0 to 1, in per cent with one decimal.
func percentText(_ share: Double) -> String { "\((share * 100).formatted(decimals: 1)) %" }
