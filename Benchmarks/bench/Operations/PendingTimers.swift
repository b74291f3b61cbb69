// SPDX-License-Identifier: Apache-2.0
import CBench
import Seeded

/// Arms the pending timers by `arm`. Throws as soon as all of them would clearly take longer than a run may: the timers so
/// far took more than their share of the time, and the rest will not be faster.
func armPending(_ timers: Int, within limit: Duration = .seconds(10), _ arm: (_ index: Int) -> Void) throws {
    let start = ContinuousClock.now
    for index in 0..<timers {
        arm(index)
        guard index % 1000 == 999, (ContinuousClock.now - start) * timers / (index + 1) > limit else { continue }
        throw BenchError("with \(timers.grouped) timers a run would take more than \(limit)")
    }
}

/// Makes the pending timers; throws as `armPending` does.
func makePending<Timer>(_ timers: Int, _ make: () -> Timer) throws -> [Timer] {
    var made: [Timer] = []
    try armPending(timers) { _ in made.append(make()) }
    return made
}

/// Timers as in code that keeps each of them in a stored property. An access to an array of references would retain and
/// release the object, which costs as much as moving a timer.
struct Owned<Object: AnyObject> {
    private let objects: [Object]
    private let unretained: [Unmanaged<Object>]

    init(_ objects: [Object]) {
        self.objects = objects
        unretained = objects.map(Unmanaged.passUnretained)
    }

    // Safe, because `objects` keeps them alive.
    @inline(__always)
    func with(_ index: Int, _ body: (Object) -> Void) {
        unretained[index]._withUnsafeGuaranteedRef(body)
    }
}

/// The deadlines of one round, in ns of `CLOCK_MONOTONIC`; they differ between rivals only by their zero. They are an hour
/// and more away, so that nothing fires during the measurement, and a new earliest deadline is as rare as among timeouts.
struct Deadlines {
    private var random: SeededRandom
    private let zero_ns = cbench_now_ns() + 3_600_000_000_000

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// Returns an instant within the second hour from now.
    mutating func any() -> Int64 {
        zero_ns + Int64.random(in: 0..<3_600_000_000_000, using: &random)
    }

    /// Returns an instant after all those of `any()`, 10 µs later with every index.
    func later(_ index: Int) -> Int64 {
        zero_ns + 3_600_000_000_000 + Int64(index) * 10_000
    }

    mutating func timer(below count: Int) -> Int {
        Int.random(in: 0..<count, using: &random)
    }
}
