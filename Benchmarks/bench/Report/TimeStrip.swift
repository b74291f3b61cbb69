import Glibc

/// The course of a subject over time: a bar for each block, as high as its median.
enum TimeStrip {
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns a line for each subject with at least three blocks.
    static func lines(_ rows: [ResultRow], width: Int?) -> [String] {
        let shown = rows.filter { $0.blocks.count >= 3 && $0.blocks.contains { $0.p50_ns != nil } }
        let nameWidth = shown.map(\.id.count).max() ?? 0
        let rangeWidth = 24
        let isNarrow = (width ?? 100) < nameWidth + rangeWidth + 14
        let room = max(8, min(100, (width ?? 100) - (isNarrow ? 2 : nameWidth + rangeWidth + 4)))
        return shown.flatMap { row -> [String] in
            let values_ns = row.blocks.sorted { $0.round < $1.round }.compactMap(\.p50_ns)
            let strip = strip(values_ns, room: room)
            let range = "\(timeText(values_ns.min()!)) … \(timeText(values_ns.max()!))"
            if isNarrow { return ["  " + row.id, "  " + strip] }
            return [
                "  " + row.id.padded(to: nameWidth) + "  " + strip.padded(to: min(room, values_ns.count)) + "  " + range
            ]
        }
    }

    /// Returns bars from the least to the greatest value, logarithmic. Values within a factor of two do not use the whole
    /// height, so that small differences do not look large. If there are more blocks than room, several share a bar, which
    /// shows the worst.
    static func strip(_ values_ns: [Int64], room: Int) -> String {
        let heights = values_ns.map { log2(Double(max(100, $0))) }
        guard let low = heights.min(), let high = heights.max() else { return "" }
        let range = max(1, high - low)
        let share = max(1, (heights.count + room - 1) / room)
        return String(
            stride(from: 0, to: heights.count, by: share).map { start in
                let worst = heights[start..<min(start + share, heights.count)].max()!
                return bars[min(7, Int((worst - low) / range * 7.99))]
            }
        )
    }
}
