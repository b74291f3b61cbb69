// SPDX-License-Identifier: Apache-2.0
import Foundation

extension Figures {
    /// The picture, as SVG: one curve for each row, of the values below which each share of its samples lies, up to 99.9 %.
    public var picture: String {
        let (left, top, width, height) = (70.0, 56.0, 560.0, 300.0)
        let shares = [0.0, 0.5, 0.9, 0.99, 0.999]
        let positive = rows.map { row in row.samples_ns.map { Swift.max($0, 100) }.sorted() }
        let most = log10(Double(positive.compactMap(\.last).max() ?? 1_000_000))
        let least = Swift.min(3.0, most - 1)
        func x(_ share: Double) -> Double { left + width * -log10(1 - Swift.min(share, 0.9995)) / 3.31 }
        func y(_ ns: Double) -> Double { top + height * (1 - (Swift.max(log10(ns), least) - least) / (most - least)) }
        var parts: [String] = []
        func text(_ x: Double, _ y: Double, _ words: String, _ style: String = "") {
            let safe = words.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            parts.append("<text x=\"\(Int(x))\" y=\"\(Int(y))\" \(style)>\(safe)</text>")
        }
        text(20, 26, "\(program): \(quantity)", "font-weight=\"600\" font-size=\"15\"")
        text(20, 44, host, "fill=\"#666c74\" font-size=\"11\"")
        for share in shares {
            parts.append(
                "<line x1=\"\(x(share))\" y1=\"\(top)\" x2=\"\(x(share))\" y2=\"\(top + height)\" stroke=\"#e3e5e8\"/>"
            )
            text(
                x(share) - 14,
                top + height + 18,
                "\((share * 1000).rounded() / 10) %",
                "fill=\"#666c74\" font-size=\"11\""
            )
        }
        for decade in Int(least.rounded(.up))...Swift.max(Int(least.rounded(.up)), Int(most)) {
            let ns = pow(10, Double(decade))
            parts.append(
                "<line x1=\"\(left)\" y1=\"\(y(ns))\" x2=\"\(left + width)\" y2=\"\(y(ns))\" stroke=\"#e3e5e8\"/>"
            )
            text(8, y(ns) + 4, Self.spelled(Int64(ns)), "fill=\"#666c74\" font-size=\"11\"")
        }
        let ours = ["#0a66c2", "#00806a", "#7a3fa0"], others = ["#c2571a", "#c8102e", "#8a6d00"]
        for (index, row) in rows.enumerated() {
            let number = rows[..<index].count { $0.isOurs == row.isOurs }
            let color = (row.isOurs ? ours : others)[number % 3]
            let sorted = positive[index]
            guard !sorted.isEmpty else { continue }
            var points: [String] = []
            for step in 0...160 {
                let share = 1 - pow(10, -Double(step) * 3.3 / 160)
                let place = Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))
                points.append(String(format: "%.1f,%.1f", x(share), y(Double(sorted[place]))))
            }
            let line = "fill=\"none\" stroke=\"\(color)\" stroke-width=\"2.5\""
            parts.append("<polyline points=\"\(points.joined(separator: " "))\" \(line)/>")
            let place = top + 14 + Double(index) * 20
            parts.append(
                "<rect x=\"\(left + width + 16)\" y=\"\(place - 9)\" width=\"12\" height=\"4\" fill=\"\(color)\"/>"
            )
            text(left + width + 34, place, row.name)
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 400" width="920" height="400" role="img">
            <style>text{font:13px system-ui,sans-serif}</style>
            <rect width="920" height="400" rx="8" fill="#ffffff"/>
            \(parts.joined(separator: "\n"))
            </svg>

            """
    }

    /// Writes the file, draws its picture, and prints the table. Each of these programs ends with that.
    public func publish(to folder: String) throws {
        try write(to: folder + "/measured.json")
        let read = try Figures(contentsOf: folder + "/measured.json")
        try read.picture.write(toFile: folder + "/picture.svg", atomically: true, encoding: .utf8)
        print(read.table)
    }
}
