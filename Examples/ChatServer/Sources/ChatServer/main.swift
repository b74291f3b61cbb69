// SPDX-License-Identifier: Apache-2.0
// A chat server with an idle timeout for each of 50,000 connections: NIO's, and this library's.
import CClient
import Foundation
import Measured

/// Raises the limit on descriptors as far as possible. Returns how many of `count` connections a process may have.
func connectionsAllowed(of count: Int) -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    // Only CAP_SYS_RESOURCE allows more than the hard limit: setrlimit(2).
    let enough = max(limit.rlim_max, UInt(count + 1000))
    var more = rlimit(rlim_cur: enough, rlim_max: enough)
    if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &more) == 0 { return count }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_max > 2000 else { fatalError("too few descriptors, \(limit.rlim_max): ulimit -n") }
    return min(count, Int(limit.rlim_max) - 1000)
}

let arguments = CommandLine.arguments
let count = Int(number("connections", 50_000))
if arguments.count == 7, arguments[1] == "--client" {
    let numbers = arguments[2...].map { Double($0)! }
    _ = connectionsAllowed(of: Int(numbers[1]))
    exit(client_run(Int32(numbers[0]), Int32(numbers[4]), Int32(numbers[1]), Int32(numbers[2]), numbers[3]))
}
let (rate, seconds, timeout) = (number("rate", 2000), number("seconds", 10), number("timeout", 20))
let allowed = connectionsAllowed(of: count)
if let name = option("serve") {
    // Ends a server that hangs.
    alarm(UInt32(seconds + 3 * timeout + 120))
    guard let way = Way(rawValue: name) else { fatalError("--serve takes \(Way.allCases.map(\.rawValue))") }
    let shard = Int(number("shard", 0))
    let server = Server(
        way: way,
        shard: shard,
        count: count,
        rate: Int(rate),
        seconds: seconds,
        timeout: .seconds(timeout)
    )
    FileHandle.standardOutput.write(try JSONEncoder().encode(try server.run()))
} else {
    // All connections at once, in one process if it may have that many, otherwise in several.
    let shards = (count + allowed - 1) / allowed
    var rows: [Figures.Row] = []
    for way in Way.allCases {
        let children = try (0..<shards).map { shard in
            let share = count * (shard + 1) / shards - count * shard / shards
            let settings = [
                "--connections": Double(share), "--rate": rate / Double(shards), "--seconds": seconds,
                "--timeout": timeout,
            ]
            let arguments =
                ["--serve", way.rawValue, "--shard", "\(shard)"] + settings.flatMap { [$0.key, "\($0.value)"] }
            return try Child(arguments)
        }
        let parts = try children.map { child in
            let data = child.readAll()
            guard child.waitForEnd() == 0 else { fatalError("\(way.name) failed") }
            return try JSONDecoder().decode(Figures.Row.self, from: data)
        }
        var row = parts[0]
        for part in parts.dropFirst() {
            row.samples_ns += part.samples_ns
            row.facts.merge(part.facts) { $0 + $1 }
        }
        row.facts["memory a connection, KiB"]? /= Double(shards)
        row.facts["processes"] = Double(shards)
        rows.append(row)
    }
    try Figures("ChatServer", quantity: "how much later than its timeout a silent connection is closed", rows: rows)
        .publish(to: option("output") ?? ".")
}
