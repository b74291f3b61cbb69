// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar
import HRTimerTesting
import ServiceLifecycle
import Synchronization

/// A server with its clients in virtual time, written as one might write it, with an account of all that happened.
final class Server: Sendable {
    struct Account: Sendable, Equatable {
        /// How often the server has accepted each request, by "client/number".
        var accepted: [String: Int] = [:]
        /// The outcome of each request as its client knows it.
        var answers: [String: String] = [:]
        var attempts = 0
        /// Requests that were begun after the shutdown was asked for.
        var late = 0
        /// The number of changes of each shard, and the last change on disk after each write.
        var changes = Array(repeating: 0, count: Server.shards)
        var writes = Array(repeating: [Int](), count: Server.shards)
        /// Log lines as they were sent and as they were written, the latter with their time.
        var lines: [String] = []
        var written: [(line: String, at: MonotonicInstant)] = []
        /// When the jobs were done.
        var hourly: [MonotonicInstant] = []
        var nightly: [WallInstant] = []
        var isShuttingDown = false

        static func == (one: Account, other: Account) -> Bool {
            one.accepted == other.accepted && one.answers == other.answers && one.attempts == other.attempts
                && one.writes == other.writes && one.lines == other.lines && one.hourly == other.hourly
                && one.nightly == other.nightly && one.written.map(\.line) == other.written.map(\.line)
                && one.written.map(\.at) == other.written.map(\.at)
        }
    }

    struct Unavailable: Error {}

    static let shards = 16
    private let state = Mutex((account: Account(), random: Random(state: 0)))
    private let disks: [Debouncer<Int>]
    private let console: Throttle<String>
    let engine: TimerEngine

    var account: Account { state.withLock { $0.account } }

    private init(_ engine: TimerEngine, _ disks: [Debouncer<Int>], _ console: Throttle<String>, seed: UInt64) {
        self.engine = engine
        self.disks = disks
        self.console = console
        state.withLock { $0.random = Random(state: seed) }
    }

    static func start(seed: UInt64) throws -> Server {
        let engine = try TimerEngine(name: "server")
        let target = Target()
        let disks = (0..<shards).map { shard in
            Debouncer<Int>(for: .milliseconds(500), engine: engine) { change in
                target.update { $0.writes[shard].append(change) }
            }
        }
        let console = Throttle<String>(for: .seconds(1), engine: engine) { line in
            target.update { $0.written.append((line, .now)) }
        }
        let server = Server(engine, disks, console, seed: seed)
        target.set(server)
        return server
    }

    /// Leads the handlers to the server that owns them, by a weak reference.
    private final class Target: Sendable {
        private struct Reference: Sendable {
            weak let server: Server?
        }

        private let server = Mutex<Reference?>(nil)

        func set(_ server: Server) {
            let reference = Reference(server: server)
            self.server.withLock { $0 = reference }
        }

        func update(_ change: (inout Account) -> Void) {
            server.withLock { $0 }?.server?.update(change)
        }
    }

    func update(_ change: (inout Account) -> Void) { state.withLock { change(&$0.account) } }

    /// Handles a request. Takes 5 to 50 ms, and fails three times in ten.
    func handle(_ client: Int, _ request: String) async throws {
        let (duration, fails) = state.withLock { state in
            state.account.attempts += 1
            return (Int.random(in: 5...50, using: &state.random), Int.random(in: 0..<10, using: &state.random) < 3)
        }
        try await Task.sleep(for: .milliseconds(duration), clock: .monotonic)
        if fails { throw Unavailable() }
        let shard = client % Self.shards
        let change = state.withLock { state in
            state.account.accepted[request, default: 0] += 1
            state.account.changes[shard] += 1
            state.account.lines.append("\(request) accepted")
            return state.account.changes[shard]
        }
        disks[shard].send(change)
        console.send("\(request) accepted")
    }

    /// Writes everything that still waits, and returns when it is written.
    func flush() async throws {
        for disk in disks { disk.flush() }
        console.flush()
        while disks.contains(where: \.isWaiting) || console.isWaiting {
            try await Task.sleep(for: .milliseconds(1), clock: .monotonic)
        }
        try await Task.sleep(for: .milliseconds(1), clock: .monotonic)
    }
}

/// A thousand clients. They come in the first afternoon, sleep until the second one, and all come once more in the last second
/// before the shutdown, which therefore finds attempts, and pauses before the next attempts, under way.
struct Clients: Service {
    let server: Server
    let again: WallInstant
    let closing: WallInstant
    let seed: UInt64

    static let count = 1000

    func run() async throws {
        try await withGracefulShutdownHandler {
            await withTaskGroup { group in
                for client in 0..<Self.count {
                    group.addTask { await visit(client, Random(state: seed &+ UInt64(client) &* 7919)) }
                }
            }
            // A service that returns ends its group.
            try await gracefulShutdown()
        } onGracefulShutdown: { [server] in
            server.update { $0.isShuttingDown = true }
        }
    }

    private func visit(_ client: Int, _ random: Random) async {
        var random = random
        for number in 0..<2 {
            let pause = Duration.milliseconds(Int.random(in: 0..<7_200_000, using: &random))
            try? await Task.sleep(for: pause, clock: .monotonic)
            await ask(client, number)
        }
        try? await Task.sleep(until: again, clock: .wall)
        for number in 2..<1000 {
            let pause = Duration.milliseconds(Int.random(in: 60_000..<3_600_000, using: &random))
            let next = WallInstant.now + pause
            let last = closing - .milliseconds(Int.random(in: 1...1000, using: &random))
            try? await Task.sleep(until: min(next, last), clock: .wall)
            await ask(client, number)
            if next >= last { return }
        }
    }

    private func ask(_ client: Int, _ number: Int) async {
        let request = "\(client)/\(number)"
        server.update {
            if $0.isShuttingDown { $0.late += 1 }
            $0.answers[request] = "begun"
        }
        let retry = Retry(.exponential(initial: .milliseconds(100), jitter: .full), attempts: 5, within: .seconds(10))
        do {
            try await retry.run { try await server.handle(client, request) }
            server.update { $0.answers[request] = "done" }
        } catch {
            server.update { $0.answers[request] = "failed: \(type(of: error))" }
        }
    }
}

/// Writes everything that still waits when all other services have ended.
struct Flush: Service {
    let server: Server

    func run() async throws {
        try await gracefulShutdown()
        try await server.flush()
    }
}

/// SplitMix64.
struct Random: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
