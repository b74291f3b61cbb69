// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Elements of an SVG picture. Colours are classes, so that one style serves light and dark, pages and separate pictures.
enum SVG {
    static func element(_ name: String, _ attributes: [(String, String)], _ content: String? = nil) -> String {
        let head = "<\(name)" + attributes.map { " \($0)=\"\(escaped($1))\"" }.joined()
        return content.map { "\(head)>\($0)</\(name)>" } ?? "\(head)/>"
    }

    static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ style: String) -> String {
        element(
            "line",
            [("x1", number(x1)), ("y1", number(y1)), ("x2", number(x2)), ("y2", number(y2)), ("class", style)]
        )
    }

    static func text(_ text: String, _ x: Double, _ y: Double, _ style: String) -> String {
        element("text", [("x", number(x)), ("y", number(y)), ("class", style)], escaped(text))
    }

    static func polyline(_ points: [(x: Double, y: Double)], _ style: String, title: String) -> String {
        let path = points.map { "\(number($0.x)),\(number($0.y))" }.joined(separator: " ")
        return element("polyline", [("points", path), ("class", style)], element("title", [], escaped(title)))
    }

    static func rect(
        _ place: (x: Double, y: Double),
        _ size: (width: Double, height: Double),
        _ style: String,
        title: String? = nil
    ) -> String {
        let numbers = [("x", place.x), ("y", place.y), ("width", size.width), ("height", size.height)]
        let title = title.map { element("title", [], escaped($0)) }
        return element("rect", numbers.map { ($0.0, number($0.1)) } + [("class", style)], title)
    }

    static func moved(down distance: Double, _ content: String) -> String {
        element("g", [("transform", "translate(0 \(number(distance)))")], content)
    }

    /// Returns a picture for a separate file, light or dark by its reader's setting.
    static func file(width: Double, height: Double, _ content: String) -> String {
        let (width, height) = (number(width), number(height))
        let size = [
            ("xmlns", "http://www.w3.org/2000/svg"), ("viewBox", "0 0 \(width) \(height)"), ("width", width),
            ("height", height), ("role", "img"),
        ]
        let back = "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--back)\"/>"
        return element("svg", size, "\n<style>\(style)</style>\(back)\n\(content)\n") + "\n"
    }

    static func number(_ value: Double) -> String {
        let text = value.formatted(decimals: 1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    /// Ten colours that colour-blind readers can distinguish, darker on white and lighter on black.
    static let style = """
        :root{--back:#ffffff;--text:#1c1e21;--faint:#666c74;--grid:#e3e5e8;--other:#c3c7cd;--bar:#3f6fb5;\
        --c0:#c8102e;--c1:#0a66c2;--c2:#00806a;--c3:#c2571a;--c4:#7a3fa0;--c5:#8a6d00;--c6:#0092b3;--c7:#b0206e;--c8:#4c6b1f;\
        --c9:#5a5f66}
        @media(prefers-color-scheme:dark){:root{--back:#14171b;--text:#e6e8eb;--faint:#9aa2ac;--grid:#2a2f36;--other:#4a515b;\
        --bar:#6f9fe0;--c0:#ff6b6f;--c1:#66b2ff;--c2:#3fd0b0;--c3:#ff9a5c;--c4:#c79bf0;--c5:#e0c14a;--c6:#5fd6f0;--c7:#ff8cc6;\
        --c8:#a8cf6a;--c9:#aab1ba}}
        svg{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
        svg text{fill:var(--text)}svg .faint{fill:var(--faint)}svg .end{text-anchor:end}svg .middle{text-anchor:middle}
        svg .head{font-weight:600;font-size:15px}svg .grid{stroke:var(--grid)}svg .axis{stroke:var(--faint)}
        svg polyline{fill:none;stroke-width:2;stroke-linejoin:round}svg .other{stroke:var(--other);stroke-width:1}
        svg .bar{fill:var(--bar)}svg .early{fill:var(--c0)}svg .small{font-size:11px}

        """
        + (0..<10).map {
            "svg polyline.c\($0){stroke:var(--c\($0))}svg text.c\($0),svg rect.c\($0){fill:var(--c\($0))}"
        }
        .joined()
}

/// A logarithmic axis of times.
struct TimeAxis {
    let low: Double
    let high: Double

    /// Covers all the times, and at least half a decade. Times below 100 ns are at its beginning.
    init(_ times_ns: [Int64], least_ns: Int64 = 100) {
        let known = times_ns.map { Double(max(least_ns, $0)) }
        let first = known.min() ?? 1000, last = known.max() ?? 10_000
        low = log10(first)
        high = max(log10(last), low + 0.5)
    }

    /// Returns 0 at the beginning of the axis and 1 at its end.
    func place(of time_ns: Int64) -> Double {
        (min(max(log10(Double(max(1, time_ns))), low), high) - low) / (high - low)
    }

    /// Round times on the axis: one, two and five of each decade; on longer axes one and three, or the decades alone.
    var ticks_ns: [Int64] {
        let mantissas: [Double] = high - low > 3 ? [1] : high - low > 1.5 ? [1, 3] : [1, 2, 5]
        return (1...11).flatMap { decade in mantissas.map { $0 * pow(10, Double(decade)) } }
            .filter { (low...high).contains(log10($0)) }.map { Int64($0) }
    }
}

/// Returns a time for an axis, without unnecessary decimals.
func tickText(_ time_ns: Int64) -> String {
    for (name, size) in [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)] as [(String, Int64)]
    where time_ns >= size {
        return time_ns % size == 0 ? "\(time_ns / size) \(name)" : timeText(time_ns)
    }
    return "\(time_ns) ns"
}
