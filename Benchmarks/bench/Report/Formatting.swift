// SPDX-License-Identifier: Apache-2.0
/// Text for the reports, without Foundation's formatters: those follow the locale, but scripts read our output.
extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    func aligned(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}

extension Double {
    /// Returns the number with a fixed number of decimals, rounded half away from zero.
    func formatted(decimals: Int) -> String {
        guard isFinite, magnitude < 1e15 else { return "\(self)" }
        let scale = (0..<decimals).reduce(1.0) { power, _ in power * 10 }
        let scaled = Int64((magnitude * scale).rounded())
        let whole = scaled / Int64(scale)
        let sign = self < 0 && scaled != 0 ? "-" : ""
        if decimals == 0 { return "\(sign)\(whole)" }
        let rest = String(scaled % Int64(scale))
        return "\(sign)\(whole)." + String(repeating: "0", count: decimals - rest.count) + rest
    }
}

extension Int {
    /// The number with commas between thousands.
    var grouped: String {
        var groups: [String] = []
        var rest = magnitude
        while rest >= 1000 {
            let group = String(rest % 1000)
            groups.insert(String(repeating: "0", count: 3 - group.count) + group, at: 0)
            rest /= 1000
        }
        return (self < 0 ? "-" : "") + ([String(rest)] + groups).joined(separator: ",")
    }
}

/// Returns a time in ns with three digits and its unit, such as "812 ns", "13.4 µs" or "-1.07 ms".
func timeText(_ time_ns: Double) -> String {
    let units: [(name: String, size: Double)] = [("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]
    // The next unit from 999.5 on, which would otherwise be rounded to 1000.
    let unit = units.first { time_ns.magnitude / $0.size < 999.5 } ?? units[3]
    let value = time_ns / unit.size
    let decimals = unit.size == 1 ? 0 : value.magnitude < 9.995 ? 2 : value.magnitude < 99.95 ? 1 : 0
    return "\(value.formatted(decimals: decimals)) \(unit.name)"
}

func timeText(_ time_ns: Int64) -> String {
    timeText(Double(time_ns))
}
