// SPDX-License-Identifier: Apache-2.0
// What a graceful shutdown leaves behind whose timeout was not needed: groups of one service that ends at once when it is asked to.
import CMeasure
import Glibc
import Logging
import ServiceLifecycle

struct Obedient: Service {
    let runs: AsyncStream<Void>.Continuation

    func run() async throws {
        runs.finish()
        try await gracefulShutdown()
    }
}

let timeout = Duration.seconds(2)
let logger = Logger(label: "measure") { _ in SwiftLogNoOpLogHandler() }

func shutDown() async throws {
    let (started, runs) = AsyncStream.makeStream(of: Void.self)
    var configuration = ServiceGroupConfiguration(services: [Obedient(runs: runs)], logger: logger)
    configuration.maximumGracefulShutdownDuration = timeout
    let group = ServiceGroup(configuration: configuration)
    async let ran: Void = group.run()
    for await _ in started {}
    await group.triggerGracefulShutdown()
    try await ran
}

func threads() -> Int {
    guard let folder = opendir("/proc/self/task") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count - 2
}

let groups = 2000
// Threads and caches are there.
for _ in 0..<100 { try await shutDown() }
sleep(3)
let before = measured_process()
for _ in 0..<groups { try await shutDown() }
let after = measured_process()
print("CPU a shutdown, µs\t", (after.cpu_ns - before.cpu_ns) / 1e3 / Double(groups))
print("heap kept a shutdown until the timeout, bytes\t", (after.heap_bytes - before.heap_bytes) / Double(groups))
print("threads\t", threads())
// The main thread sleeps, and nothing is left to do.
sleep(3)
let end = measured_process()
print("waits of threads a shutdown afterwards\t", (end.waits - after.waits) / Double(groups))
print("CPU a shutdown afterwards, µs\t", (end.cpu_ns - after.cpu_ns) / 1e3 / Double(groups))
