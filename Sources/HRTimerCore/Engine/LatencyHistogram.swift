import CHRTimer

/// How often each lateness occurred: two significant digits in an engine's, up to 100 s.
///
/// One thread records; others may read at any time. What an engine gives out is a copy that nobody changes any more.
public final class LatencyHistogram: @unchecked Sendable {
    // Sendable: reading is safe beside the one thread that records (hrt_histogram.h), and only the owner can record.
    private let handle: OpaquePointer
    private let significantDigits: Int32

    package init(significantDigits: Int32 = 2) {
        self.significantDigits = significantDigits
        var created: OpaquePointer?
        // Fails for lack of memory alone: the arguments are in range.
        guard hrt_histogram_create(significantDigits, 100_000_000_000, &created) == 0, let created else {
            fatalError("no memory for a latency histogram")
        }
        handle = created
    }

    deinit {
        hrt_histogram_destroy(handle)
    }

    @inline(__always)
    package func record(_ lateness_ns: Int64) {
        hrt_histogram_record(handle, lateness_ns)
    }

    /// All that was counted so far, in a histogram of its own.
    package func copy() -> LatencyHistogram {
        let copy = LatencyHistogram(significantDigits: significantDigits)
        // Cannot fail: both have the same layout.
        _ = hrt_histogram_add(copy.handle, handle)
        return copy
    }

    /// How many values were recorded.
    public var count: Int { Int(clamping: hrt_histogram_count(handle)) }

    /// How many of them were below zero: early.
    public var earlyCount: Int { Int(clamping: hrt_histogram_early_count(handle)) }

    /// The least value, or nil if there is none.
    public var min: Duration? { min_ns.map { .nanoseconds($0) } }

    /// The greatest value, or nil if there is none.
    public var max: Duration? { max_ns.map { .nanoseconds($0) } }

    /// The mean of all values, or nil if there is none.
    public var mean: Duration? {
        count > 0 ? .nanoseconds(hrt_histogram_sum_ns(handle) / Int64(count)) : nil
    }

    /// The least value that `percent` per cent of all values are not above; nil if there is none. Two digits are exact.
    public func percentile(_ percent: Double) -> Duration? {
        percentile_ns(percent).map { .nanoseconds($0) }
    }

    /// The ranges with at least one value, in order, with their counts.
    public var buckets: [(range: ClosedRange<Duration>, count: UInt64)] {
        buckets_ns.map { (.nanoseconds($0.low_ns) ... .nanoseconds($0.high_ns), $0.count) }
    }
}

// The same in nanoseconds, as the recorder has them.
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

    package var min_ns: Int64? { count > 0 ? hrt_histogram_min_ns(handle) : nil }

    package var max_ns: Int64? { count > 0 ? hrt_histogram_max_ns(handle) : nil }

    package var mean_ns: Double? { count > 0 ? Double(hrt_histogram_sum_ns(handle)) / Double(count) : nil }

    package func percentile_ns(_ percent: Double) -> Int64? {
        count > 0 ? hrt_histogram_percentile_ns(handle, percent) : nil
    }

    package var buckets_ns: [Bucket] {
        var found: [Bucket] = []
        var cursor = 0
        var bucket = hrt_histogram_bucket()
        while hrt_histogram_next(handle, &cursor, &bucket) {
            found.append(Bucket(low_ns: bucket.low_ns, high_ns: bucket.high_ns, count: bucket.count))
        }
        return found
    }
}
