import CHRTimer

/// The library's own recorder, `hrt_histogram`, with three significant digits up to 100 s.
///
/// Not Sendable: the bench fills it between blocks, on one thread.
final class LatencyHistogram {
    struct Bucket: Equatable {
        let low_ns: Int64
        let high_ns: Int64
        let count: UInt64
    }

    private let handle: OpaquePointer

    init() {
        var created: OpaquePointer?
        // Fails for lack of memory alone: the arguments are in range.
        guard hrt_histogram_create(3, 100_000_000_000, &created) == 0, let created else {
            fatalError("no memory for a latency histogram")
        }
        handle = created
    }

    deinit {
        hrt_histogram_destroy(handle)
    }

    func record(_ lateness_ns: Int64) {
        hrt_histogram_record(handle, lateness_ns)
    }

    var count: Int { Int(hrt_histogram_count(handle)) }
    var earlyCount: Int { Int(hrt_histogram_early_count(handle)) }
    var min_ns: Int64? { count > 0 ? hrt_histogram_min_ns(handle) : nil }
    var max_ns: Int64? { count > 0 ? hrt_histogram_max_ns(handle) : nil }
    var mean_ns: Double? { count > 0 ? Double(hrt_histogram_sum_ns(handle)) / Double(count) : nil }

    /// Nil where fewer than ten values lie beyond it: such a percentile is the luck of single fires.
    func value_ns(at percentile: Percentile) -> Int64? {
        percentile.isSupported(by: count) ? hrt_histogram_percentile_ns(handle, percentile.percent) : nil
    }

    /// The buckets with a count, in order.
    var buckets: [Bucket] {
        var found: [Bucket] = []
        var cursor = 0
        var bucket = hrt_histogram_bucket()
        while hrt_histogram_next(handle, &cursor, &bucket) {
            found.append(Bucket(low_ns: bucket.low_ns, high_ns: bucket.high_ns, count: bucket.count))
        }
        return found
    }
}

/// A percentile that the reports know.
enum Percentile: Int, CaseIterable {
    case p50 = 50_000
    case p90 = 90_000
    case p99 = 99_000
    case p999 = 99_900

    var percent: Double { Double(rawValue) / 1000 }

    /// Whether at least ten of `count` values lie beyond: n (1 - p) >= 10, in whole numbers.
    func isSupported(by count: Int) -> Bool {
        count * (100_000 - rawValue) >= 10 * 100_000
    }
}
