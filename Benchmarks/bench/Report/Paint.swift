// SPDX-License-Identifier: Apache-2.0
/// Colours for a terminal; plain text if none are wanted.
struct Paint: Sendable {
    enum Style: Int, Sendable {
        case bold = 1
        case red = 31
        case green = 32
        case yellow = 33
    }

    var isColoured = false

    func callAsFunction(_ text: String, _ style: Style?) -> String {
        guard isColoured, let style, !text.isEmpty else { return text }
        return "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m"
    }

    func bold(_ text: String) -> String { self(text, .bold) }
}
