// SPDX-License-Identifier: Apache-2.0
/// The sum of squared deviations, computed in one pass without loss of digits (Welford, Technometrics 4, 1962).
struct SquareSum: Sendable {
    private var count = 0.0
    private var mean = 0.0
    private var sum = 0.0

    mutating func add(_ value: Double) {
        count += 1
        let distance = value - mean
        mean += distance / count
        sum += distance * (value - mean)
    }

    /// Nil for fewer than two values.
    var standardDeviation: Double? {
        count > 1 ? (sum / (count - 1)).squareRoot() : nil
    }
}

/// Returns the slope of the least-squares line through the points; nil if they determine no line.
func slope(of points: [(x: Double, y: Double)]) -> Double? {
    guard points.count > 1 else { return nil }
    let count = Double(points.count)
    let middle = (
        x: points.reduce(0) { $0 + $1.x / count },
        y: points.reduce(0) { $0 + $1.y / count }
    )
    // Relative to the middle: instants are large numbers, whose squares would lose the digits that matter.
    let covariance = points.reduce(0) { $0 + ($1.x - middle.x) * ($1.y - middle.y) }
    let variance = points.reduce(0) { $0 + ($1.x - middle.x) * ($1.x - middle.x) }
    return variance > 0 ? covariance / variance : nil
}
