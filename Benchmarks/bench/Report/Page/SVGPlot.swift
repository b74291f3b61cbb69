// SPDX-License-Identifier: Apache-2.0
/// The frame of a picture: where the plot lies in it, its grid with labels, and what stands around it.
struct SVGPlot {
    let width: Double
    let height: Double
    var left: Double
    var right: Double
    var top: Double
    /// Where the plot ends, from the top.
    var bottom: Double

    /// Returns the place of a share, 0 to 1, of the plot's width.
    func x(_ share: Double) -> Double { left + share * (width - left - right) }

    /// Returns the place of a share, 0 to 1, of the plot's height, from below.
    func y(_ share: Double) -> Double { top + (1 - share) * (bottom - top) }

    typealias Tick = (share: Double, label: String)

    /// Lines across at the marks of the height, and up at those of the width, with their labels; below them the title.
    func grid(heights: [Tick], widths: [Tick], title: String) -> String {
        let across = heights.map { tick in
            SVG.line(left, y(tick.share), width - right, y(tick.share), "grid")
                + SVG.text(tick.label, left - 8, y(tick.share) + 4, "faint end")
        }
        let up = widths.map { tick in
            SVG.line(x(tick.share), top, x(tick.share), bottom, "grid")
                + SVG.text(tick.label, x(tick.share), bottom + 18, "faint middle")
        }
        return (across + up).joined() + SVG.line(left, bottom, width - right, bottom, "axis")
            + SVG.text(title, (left + width - right) / 2, bottom + 38, "faint middle")
    }

    /// Names to the right of the plot, each in its colour, and moved apart where they would overlap.
    func names(_ ends: [(number: Int, name: String, share: Double)]) -> String {
        let ends = ends.sorted { $0.share > $1.share }
        let step = 17.0
        var places = ends.map { y($0.share) + 4 }
        for index in places.indices.dropFirst() { places[index] = max(places[index], places[index - 1] + step) }
        let overflow = max(0, (places.last ?? 0) - bottom)
        for index in places.indices.reversed() {
            let limit = index == places.count - 1 ? places[index] - overflow : places[index + 1] - step
            places[index] = min(places[index], limit)
        }
        return zip(ends, places).map { SVG.text($0.name, width - right + 8, $1, "c\($0.number % 10)") }.joined()
    }

    /// The picture as a part of a page.
    func inline(_ label: String, _ content: String) -> String {
        "<svg viewBox=\"0 0 \(SVG.number(width)) \(SVG.number(height))\" role=\"img\" "
            + "aria-label=\"\(SVG.escaped(label))\">\(content)</svg>"
    }
}
