// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

/// How often each lateness occurred, to two significant digits, up to 100 s.
///
///     let latencies = LatencyHistogram()
///     latencies.record(start.duration(to: .now))
///     print(latencies)     // 5400 values: min 12 µs, p50 54 µs, p90 88 µs, p99 1.1 ms, max 3.2 ms
///
/// Any thread may record, and read at any time. An engine returns copies, which it does not change any more.
@safe public final class LatencyHistogram: @unchecked Sendable {
    // Sendable: reading is safe while one thread records (hrt_histogram.h). That is the owner's thread, or the one that
    // holds the lock. Safe: the C core's histogram lives as long as this object, and nobody else has its address.
    private let handle: OpaquePointer
    private let significantDigits: Int32
    /// Held by users' calls of `record(_:)`, which may come from any thread.
    private let recording = Locked(())

    /// Creates an empty histogram, to two significant digits.
    public convenience init() {
        self.init(significantDigits: 2)
    }

    package init(significantDigits: Int32) {
        self.significantDigits = significantDigits
        var created: OpaquePointer?
        // Fails only for lack of memory: the arguments are in range.
        guard unsafe hrt_histogram_create(significantDigits, 100_000_000_000, &created) == 0,
            let created = unsafe created
        else {
            fatalError("no memory for a latency histogram")
        }
        unsafe handle = created
    }

    deinit {
        unsafe hrt_histogram_destroy(handle)
    }

    @inline(__always)
    package func record(_ lateness_ns: Int64) {
        unsafe hrt_histogram_record(handle, lateness_ns)
    }

    /// Counts one value: a negative one as early, NaN not at all.
    ///
    /// Values beyond 100 s are told apart only by `min`, `max` and `sum`. O(1), no allocation. Any thread.
    @_disfavoredOverload
    public func record(_ value: some TimeSpan) {
        guard let value_ns = value.nanoseconds else { return }
        recording.withLock { _ in record(value_ns) }
    }

    /// Returns a histogram of its own with all values that were counted so far.
    package func copy() -> LatencyHistogram {
        let copy = LatencyHistogram(significantDigits: significantDigits)
        copy.add(self)
        return copy
    }

    /// Adds all values of another histogram with as many digits. To be called by the recording thread, as `record(_ lateness_ns:)`.
    package func add(_ other: LatencyHistogram) {
        // Cannot fail: both have the same layout.
        _ = unsafe hrt_histogram_add(handle, other.handle)
    }

    /// How many values were recorded.
    public var count: Int { Int(clamping: unsafe hrt_histogram_count(handle)) }

    /// How many values were below zero: early.
    public var earlyCount: Int { Int(clamping: unsafe hrt_histogram_early_count(handle)) }

    /// The least value, or nil if there is none.
    public var min: Duration? { min_ns.map { .nanoseconds($0) } }

    /// The greatest value, or nil if there is none.
    public var max: Duration? { max_ns.map { .nanoseconds($0) } }

    /// The sum of all values; saturates at 292 years.
    package var sum: Duration { unsafe .nanoseconds(hrt_histogram_sum_ns(handle)) }

    /// Returns how many values were not above `bound`, as a bucket of Prometheus counts.
    ///
    /// Values that differ from the bound by less than the two digits tell all count. Returns 0 for NaN. O(buckets).
    public func count(upTo bound: some TimeSpan) -> Int {
        guard let bound_ns = bound.nanoseconds else { return 0 }
        return Int(clamping: buckets_ns.prefix { $0.low_ns <= bound_ns }.reduce(0) { $0 + $1.count })
    }

    /// The mean of all values, or nil if there is none.
    public var mean: Duration? {
        unsafe count > 0 ? .nanoseconds(hrt_histogram_sum_ns(handle) / Int64(count)) : nil
    }

    /// Returns the least value that the part `fraction` of all values does not exceed, 0.5 being the median; nil if there is
    /// none.
    ///
    /// Two digits are exact.
    ///
    /// Takes 0 ... 1; a value outside counts as the nearer bound. Debug builds warn of a value above 1, for example 99 that
    /// was meant as per cent (`UsageWarning`). Returns nil for NaN. O(buckets).
    public func quantile(_ fraction: Double) -> Duration? {
        if fraction.isNaN { return nil }
        if fraction > 1 { UsageWarning.report(.quantileAboveOne(fraction)) }
        // The least value is known to the nanosecond.
        return fraction > 0 ? percentile_ns(100 * fraction).map { .nanoseconds($0) } : min
    }

    /// The ranges with at least one value, in order, with their counts.
    package var buckets: [(range: ClosedRange<Duration>, count: UInt64)] {
        buckets_ns.map { (.nanoseconds($0.low_ns) ... .nanoseconds($0.high_ns), $0.count) }
    }
}

// The values in nanoseconds, as they were recorded.
extension LatencyHistogram {
    package struct Bucket: Equatable, Sendable {
        package let low_ns: Int64
        package let high_ns: Int64
        package let count: UInt64

        package init(low_ns: Int64, high_ns: Int64, count: UInt64) {
            self.low_ns = low_ns
            self.high_ns = high_ns
            self.count = count
        }
    }

    package var min_ns: Int64? { unsafe count > 0 ? hrt_histogram_min_ns(handle) : nil }

    package var max_ns: Int64? { unsafe count > 0 ? hrt_histogram_max_ns(handle) : nil }

    package var mean_ns: Double? { unsafe count > 0 ? Double(hrt_histogram_sum_ns(handle)) / Double(count) : nil }

    package func percentile_ns(_ percent: Double) -> Int64? {
        unsafe count > 0 ? hrt_histogram_percentile_ns(handle, percent) : nil
    }

    package var buckets_ns: [Bucket] {
        var found: [Bucket] = []
        var cursor = 0
        var bucket = hrt_histogram_bucket()
        while unsafe hrt_histogram_next(handle, &cursor, &bucket) {
            found.append(Bucket(low_ns: bucket.low_ns, high_ns: bucket.high_ns, count: bucket.count))
        }
        return found
    }
}

extension LatencyHistogram: CustomStringConvertible {
    /// One line: the number of values, how many of them were early, and the usual quantiles, to two digits.
    public var description: String {
        guard let min_ns, let max_ns else { return "no values" }
        let quantiles = [50, 90, 99].map { "p\($0) \(Self.words(percentile_ns(Double($0)) ?? 0))" }
        let parts = ["min \(Self.words(min_ns))"] + quantiles + ["max \(Self.words(max_ns))"]
        let early = earlyCount > 0 ? ", \(earlyCount) early" : ""
        return "\(counted(count, "value"))\(early): \(parts.joined(separator: ", "))"
    }

    /// Returns two digits, in a unit that leaves at most three before the point.
    private static func words(_ value_ns: Int64) -> String {
        Duration.nanoseconds(value_ns).inWords
    }
}

/// Returns a count and what is counted, for people: `1 timer`, `2 timers`.
package func counted(_ count: some BinaryInteger, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
}

extension Duration {
    /// Two or three digits and a unit, for people: `1.5 ms`.
    package var inWords: String {
        let value_ns = nanosecondsRoundedUp
        if value_ns == .max { return "for ever" }
        var value = Double(value_ns.magnitude)
        var unit = "ns"
        for next in ["µs", "ms", "s"] where value >= 999.5 {
            value /= 1000
            unit = next
        }
        let rounded = value < 10 ? (value * 10).rounded() / 10 : value.rounded()
        let digits = rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
        return "\(value_ns < 0 ? "-" : "")\(digits) \(unit)"
    }
}
#endif
