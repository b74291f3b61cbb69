// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import TestSupport
import Testing

@Suite("The latency histogram")
struct HRTHistogramTests {
    @Test("returns the percentiles of a sorted array, to three digits", arguments: [500, 900, 990, 999, 1000])
    func agreesWithASortedArray(perMille: Int) {
        var random = SeededRandom.fromEnvironment()
        let histogram = Histogram()
        // Magnitudes of all sizes, both signs.
        let values = (0..<10_000).map { _ in
            Int64.random(in: -1000...1000, using: &random) << Int64.random(in: 0...20, using: &random)
        }
        for value in values { histogram.record(value) }

        let rank = (values.count * perMille + 999) / 1000
        let exact = values.sorted()[rank - 1]
        let found = histogram.percentile_ns(Double(perMille) / 10)
        #expect(abs(found - exact) <= max(1, abs(exact) / 1000))
    }

    @Test("keeps count, minimum, maximum, sum and the number of early values exactly")
    func keepsExactNumbers() {
        let histogram = Histogram()
        for value: Int64 in [-7, 1_234_567, 89, -1, 0] { histogram.record(value) }
        #expect(histogram.count == 5)
        #expect(histogram.earlyCount == 2)
        #expect(histogram.min_ns == -7)
        #expect(histogram.max_ns == 1_234_567)
        #expect(histogram.sum_ns == 1_234_648)
    }

    @Test("puts every value into a bucket that contains it and is no wider than its digits allow")
    func bucketsContainTheirValues() throws {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<2000 {
            let histogram = Histogram()
            let value = Int64.random(in: -4_000_000_000...4_000_000_000, using: &random)
            histogram.record(value)
            let buckets = histogram.buckets
            #expect(buckets.count == 1)
            let bucket = try #require(buckets.first)
            #expect((bucket.low_ns...bucket.high_ns).contains(value), "\(value)")
            #expect((bucket.high_ns - bucket.low_ns) * 1000 <= abs(value), "\(value)")
        }
    }

    @Test("has the bucket borders of HdrHistogram")
    func hasTheBordersOfHdrHistogram() {
        let histogram = Histogram()
        // With three digits: single units up to 2047, then steps of 2, 4, 8 …
        for value: Int64 in [2047, 2048, 2049, 4095, 4096, 10_000] { histogram.record(value) }
        #expect(histogram.buckets.map(\.low_ns) == [2047, 2048, 4094, 4096, 10_000])
        #expect(histogram.buckets.map(\.high_ns) == [2047, 2049, 4095, 4099, 10_007])
    }

    @Test("returns its buckets in order, negative ones first")
    func iteratesInOrder() {
        let histogram = Histogram()
        for value: Int64 in [5, -3000, 0, 70_000, -1, 5] { histogram.record(value) }
        #expect(histogram.buckets.map(\.low_ns) == [-3001, -1, 0, 5, 69_952])
        #expect(histogram.buckets.map(\.count) == [1, 1, 1, 2, 1])
    }

    @Test(
        "counts values beyond its range instead of losing them",
        arguments: [Int64.min, Int64.min + 1, Int64.max - 1, Int64.max]
    )
    func countsBeyondItsRange(value: Int64) {
        let histogram = Histogram()
        histogram.record(value)
        #expect(histogram.count == 1)
        // Only the buckets at the ends reach that far.
        #expect(histogram.buckets.map(\.count) == [1])
        #expect(histogram.buckets.allSatisfy { ($0.low_ns == .min) != ($0.high_ns == .max) })
        #expect(histogram.percentile_ns(50) == value)
    }

    @Test("saturates its sum at the end of the range instead of wrapping")
    func saturatesItsSum() {
        let histogram = Histogram()
        for _ in 0..<3 { histogram.record(.max) }
        histogram.record(-1)
        #expect(histogram.sum_ns == .max)
    }

    @Test("adds a histogram of its own layout, and refuses one of another layout")
    func addsItsLayoutOnly() {
        let one = Histogram()
        let other = Histogram()
        let coarse = Histogram(digits: 1)
        for value: Int64 in [1, 2, 3] { one.record(value) }
        for value: Int64 in [-9, 3, 3] { other.record(value) }
        #expect(one.add(other) == 0)
        #expect(one.buckets.map(\.count) == [1, 1, 1, 3])
        #expect(one.min_ns == -9)
        #expect(one.earlyCount == 1)
        #expect(one.add(coarse) == -EINVAL)
        #expect(one.count == 6)
    }

    @Test("does not change when an empty histogram is added")
    func addsNothing() {
        let histogram = Histogram()
        histogram.record(4)
        #expect(histogram.add(Histogram()) == 0)
        #expect(histogram.min_ns == 4)
        #expect(histogram.max_ns == 4)
    }

    @Test("is empty at first")
    func isEmpty() {
        let histogram = Histogram()
        #expect(histogram.buckets.isEmpty)
        #expect(histogram.count == 0)
        #expect(histogram.earlyCount == 0)
        #expect(histogram.sum_ns == 0)
        #expect(histogram.min_ns == .max)
        #expect(histogram.max_ns == .min)
        #expect(histogram.percentile_ns(50) == 0)
    }

    @Test(
        "counts what is up to 1 ms late without a page fault, from the first value on",
        .enabled(if: !isSanitized, "the sanitizers' own memory faults")
    )
    func doesNotFault() {
        func faults() -> Int64 {
            var counts = hrt_thread_counts()
            hrt_thread_counts_read(-1, &counts)
            return counts.minor_faults
        }
        // The first round brings in the code, and a fork(2) of another test has pages fault once more. Never all ten.
        let faulted = (0..<10).map { _ in
            let histogram = Histogram(digits: 2)
            let before = faults()
            for value: Int64 in stride(from: 0, through: 1_000_000, by: 1000) { histogram.record(value) }
            return faults() - before
        }
        #expect(faulted.min() == 0)
    }

    @Test("returns a value for any percentile", arguments: [-Double.infinity, -1, 0, .nan, 100, 101, .infinity])
    func answersAnyPercentile(percentile: Double) {
        let histogram = Histogram()
        for value: Int64 in [10, 20] { histogram.record(value) }
        #expect(histogram.percentile_ns(percentile) == (percentile >= 100 ? 20 : 10))
    }

    @Test(
        "cannot be created with arguments out of range",
        arguments: [(0, 1), (5, 1), (3, 0), (3, .max), (3, -1)] as [(CInt, Int64)]
    )
    func refusesBadArguments(digits: CInt, highest_ns: Int64) {
        var handle: OpaquePointer?
        #expect(hrt_histogram_create(digits, highest_ns, &handle) == -EINVAL)
        #expect(handle == nil)
    }
}

/// A histogram for values up to a little more than 4 s, freed with its last reference.
private final class Histogram {
    // Private: Swift may free the object right after its last use, and a handle taken from it must not outlive it.
    private let handle: OpaquePointer

    init(digits: CInt = 3) {
        var created: OpaquePointer?
        precondition(hrt_histogram_create(digits, 4_000_000_000, &created) == 0)
        handle = created!
    }

    deinit {
        hrt_histogram_destroy(handle)
    }

    func record(_ value_ns: Int64) {
        hrt_histogram_record(handle, value_ns)
    }

    func add(_ other: Histogram) -> CInt {
        withExtendedLifetime(other) { hrt_histogram_add(handle, other.handle) }
    }

    func percentile_ns(_ percentile: Double) -> Int64 {
        hrt_histogram_percentile_ns(handle, percentile)
    }

    var count: UInt64 { hrt_histogram_count(handle) }
    var earlyCount: UInt64 { hrt_histogram_early_count(handle) }
    var min_ns: Int64 { hrt_histogram_min_ns(handle) }
    var max_ns: Int64 { hrt_histogram_max_ns(handle) }
    var sum_ns: Int64 { hrt_histogram_sum_ns(handle) }

    var buckets: [hrt_histogram_bucket] {
        var found: [hrt_histogram_bucket] = []
        var cursor = 0
        var bucket = hrt_histogram_bucket()
        while hrt_histogram_next(handle, &cursor, &bucket) { found.append(bucket) }
        return found
    }
}
