// SPDX-License-Identifier: Apache-2.0
// A Hummingbird service with a periodic job, a retry and a graceful shutdown, on HRTimerExecutors and on the standard library's
// executors.
import Foundation
import HRTimerExecutors
import Measured
import ServiceLifecycle

let requests = Int(number("requests", 1000))

/// Serves until the client has all of its answers. Returns what that cost.
@Sendable func serve(name: String, isOurs: Bool) async throws -> Figures.Row {
    let prices = Prices()
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let group = prices.group(port: 0) { port.yield($0) }
    async let running: Void = group.run()
    for await number in ports {
        let before = Usage.now()
        let samples = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let client = Client(port: number)
                // The time of a request that does not wait is not due to the timer, and is subtracted.
                let floor_ns = (0..<200).map { _ in client.get("/price") }.sorted()[100]
                continuation.resume(returning: (0..<requests).map { _ in client.get("/later") - 5_000_000 - floor_ns })
            }
        }
        let used = Usage.now() - before
        let begin_ns = monotonic_ns
        await group.triggerGracefulShutdown()
        try await running
        let counts = prices.counts
        guard counts.jobs > 0, counts.failures > 0 else { fatalError("the job did not run, or never failed") }
        return Figures.Row(
            name,
            isOurs: isOurs,
            samples_ns: samples,
            facts: [
                "CPU a request, µs": Double(used.cpu_ns) / 1000 / Double(requests + 200),
                "context switches a request": Double(used.contextSwitches) / Double(requests + 200),
                "shutdown, ms": Double(monotonic_ns - begin_ns) / 1e6,
                "jobs done": Double(counts.jobs),
                "jobs given up": Double(counts.givenUp),
                "fetches failed": Double(counts.failures),
            ]
        )
    }
    fatalError("the server did not start")
}

@Sendable func report(_ row: Figures.Row) throws {
    FileHandle.standardOutput.write(try JSONEncoder().encode(row))
}

switch option("serve") {
case "standard":
    Task {
        try report(try await serve(name: "the standard library's executors", isOurs: false))
        exit(0)
    }
    dispatchMain()
case "hrtimer", "precise":
    let isPrecise = option("serve") == "precise"
    let name = isPrecise ? "TimerExecutors, precise" : "TimerExecutors"
    try TimerExecutors.run(precision: isPrecise ? .precise : .normal) {
        try report(try await serve(name: name, isOurs: true))
    }
case "forever":
    // Runs only the service, until SIGTERM.
    try TimerExecutors.run {
        try await Prices().group(port: Int(number("port", 8080))) { print("http://127.0.0.1:\($0)/price") }.run()
    }
default:
    let rows = try ["standard", "hrtimer", "precise"].map { way in
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--serve", way, "--requests", "\(requests)"]
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { fatalError("\(way) failed") }
        return try JSONDecoder().decode(Figures.Row.self, from: data)
    }
    try Figures(
        "JobService",
        quantity: "how much later than asked for a handler's Task.sleep(5 ms) answers",
        rows: rows
    )
    .publish(to: option("output") ?? ".")
}
