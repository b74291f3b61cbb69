// SPDX-License-Identifier: Apache-2.0
/// A plot of text: each subject is a letter, with labels at the left and marks below.
struct LetterPlot {
    private static let labelWidth = 10
    private var cells: [[Character]]
    private let width: Int
    private var height: Int { cells.count }

    init(width: Int, height: Int) {
        self.width = width
        cells = [[Character]](repeating: [Character](repeating: " ", count: width), count: height)
    }

    /// Returns how many columns a plot has on a terminal of that width.
    static func width(on terminal: Int?) -> Int { min(100, max(20, (terminal ?? 96) - labelWidth - 9)) }

    static func letter(_ number: Int) -> Character { Character(UnicodeScalar(UInt8(97 + number % 26))) }

    /// Puts a subject's letter at a height between 0 and 1. Among others it goes to a free column on the right, if there is
    /// one in `columns`.
    mutating func put(_ number: Int, in columns: Range<Int>, at share: Double) {
        let line = height - 1 - Int((share * Double(height - 1)).rounded())
        let column = columns.first { cells[line][$0] == " " } ?? columns.lowerBound
        cells[line][column] = Self.letter(number)
    }

    /// Returns the lines from the top, with a label for every fourth height, and the marks below them.
    func lines(marks: [(column: Int, text: String)], label: (_ share: Double) -> String) -> [String] {
        let plot = cells.enumerated().map { index, cells in
            let share = Double(height - 1 - index) / Double(height - 1)
            let label = index.isMultiple(of: 4) || index == height - 1 ? label(share) : ""
            return "\(label.aligned(to: Self.labelWidth)) │" + String(cells).trimmedAtEnd
        }
        var axis = [Character](repeating: "─", count: width)
        var labels = [Character](repeating: " ", count: width + 7)
        for mark in marks where mark.column < width {
            axis[mark.column] = "┴"
            for (offset, character) in mark.text.enumerated() where mark.column + offset < labels.count {
                labels[mark.column + offset] = character
            }
        }
        let indent = String(repeating: " ", count: Self.labelWidth)
        return plot + ["\(indent) └" + String(axis), "\(indent)  " + String(labels).trimmedAtEnd]
    }
}

extension String {
    /// The text without spaces at the end.
    var trimmedAtEnd: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
