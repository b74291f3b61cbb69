// SPDX-License-Identifier: Apache-2.0
// How long after each second of the wall clock the cached date is the former one, and what its update costs. A server starts at any
// part of a second, so twenty caches start spread over one.
import CMeasure
import Glibc

@testable import Hummingbird

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Detached, for this thread is the main actor's, and waits.
func start(_ cache: DateCache) -> Task<Void, any Error> { Task.detached { try await cache.run() } }

let seconds = 3
let caches = (0..<20).map { _ in DateCache() }
// One alone, as a server has it.
var tasks = [start(caches[0])]
usleep(1_100_000)
let before = measured_process()
sleep(UInt32(seconds))
let after = measured_process()
print("CPU an update, µs\t", (after.cpu_ns - before.cpu_ns) / 1e3 / Double(seconds))
print("waits of threads an update\t", (after.waits - before.waits) / Double(seconds))

for cache in caches[1...] {
    usleep(50_000)
    tasks.append(start(cache))
}
usleep(1_100_000)
var lateness_ms: [Double] = []
for _ in 0..<seconds {
    let second = measured_wall_s().rounded(.up)
    while measured_wall_s() < second { usleep(useconds_t(max(0, second - measured_wall_s()) * 1e6)) }
    let date = Date(timeIntervalSince1970: second + 0.5).httpHeader
    var waiting = caches
    // All the time at first, then every half a millisecond.
    while !waiting.isEmpty, measured_wall_s() < second + 0.99 {
        if measured_wall_s() > second + 0.003 { usleep(500) }
        let late_ms = (measured_wall_s() - second) * 1e3
        let count = waiting.count
        waiting.removeAll { $0.date == date }
        lateness_ms += Array(repeating: late_ms, count: count - waiting.count)
    }
    lateness_ms += Array(repeating: 1000, count: waiting.count)
}
lateness_ms.sort()
for task in tasks { task.cancel() }
print("former date, p50 of a second, ms\t", lateness_ms[lateness_ms.count / 2])
print("former date, p99 of a second, ms\t", lateness_ms[lateness_ms.count * 99 / 100])
