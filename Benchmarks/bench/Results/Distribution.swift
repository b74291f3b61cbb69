// SPDX-License-Identifier: Apache-2.0
/// How often each lateness occurred, in the form of a result: the lower ends of HdrHistogram's buckets of three digits.
struct Distribution: Sendable, Equatable {
    struct Bucket: Sendable, Equatable {
        let low_ns: Int64
        let count: Int64

        /// The largest value of the bucket.
        var high_ns: Int64 {
            low_ns >= 0 ? low_ns + HDRLayout.width(of: low_ns) - 1 : low_ns
        }
    }

    let buckets: [Bucket]
    let count: Int64

    init(_ buckets: [Bucket]) {
        self.buckets = buckets.filter { $0.count > 0 }
        count = self.buckets.reduce(0) { $0 + $1.count }
    }

    /// Returns the least value that this share of all values (0 to 1) does not exceed; nil without values.
    func value_ns(at share: Double) -> Int64? {
        // Subtracting a little keeps 99.9 % of 10,000 at 9,990, although the product is slightly larger.
        let rank = max(1, Int64((share * Double(count) - 1e-9 * Double(count)).rounded(.up)))
        var seen: Int64 = 0
        for bucket in buckets {
            seen += bucket.count
            if seen >= rank { return bucket.high_ns }
        }
        return buckets.last?.high_ns
    }

    /// Returns points of the percentile curve from share 0 up to the share that `beyond` values exceed, ten points for each
    /// halving of the rest.
    func curve(beyond: Double = 10) -> [(share: Double, value_ns: Int64)] {
        var points: [(share: Double, value_ns: Int64)] = []
        var above = 1.0
        while above * Double(count) >= beyond {
            let share = 1 - above
            if let value_ns = value_ns(at: share) { points.append((share, value_ns)) }
            above *= 0.933_032_991_5  // the tenth root of one half
        }
        return points
    }
}

extension Distribution: Decodable {
    init(from decoder: any Decoder) throws {
        var elements = try decoder.unkeyedContainer()
        var buckets: [Bucket] = []
        while !elements.isAtEnd {
            var pair = try elements.nestedUnkeyedContainer()
            buckets.append(Bucket(low_ns: try pair.decode(Int64.self), count: try pair.decode(Int64.self)))
        }
        guard buckets.allSatisfy({ $0.count >= 0 }) else {
            throw DecodingError.dataCorruptedError(in: elements, debugDescription: "a count is below zero")
        }
        self.init(buckets.sorted { $0.low_ns < $1.low_ns })
    }
}

/// The layout of HdrHistogram's counts, with three significant digits and 1 as the least value that differs from 0.
enum HDRLayout {
    /// Returns how many values share the bucket of this one.
    static func width(of value: Int64) -> Int64 {
        let bits = 64 - (value | 2047).leadingZeroBitCount
        return 1 << Int64(bits - 11)
    }
}
