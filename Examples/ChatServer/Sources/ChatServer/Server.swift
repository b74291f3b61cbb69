// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import Measured
import NIOCore
import NIOPosix

/// A server with one kind of timeout, in a process of its own, so that its memory can be measured.
struct Server {
    let way: Way
    /// The number of this server among several, if one process may not have enough descriptors.
    let shard: Int
    let count: Int
    let rate: Int
    let seconds: Double
    let timeout: Duration

    func run() throws -> Figures.Row {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let (rooms, closings) = (Rooms(), Closings())
        let engine = try TimerEngine(name: "idle", precision: .coalesced)
        let (way, timeout) = (way, timeout)
        let server = try ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    switch way {
                    case .none: break
                    case .nio:
                        let read = TimeAmount.nanoseconds(Int64(timeout / .nanoseconds(1)))
                        try pipeline.addHandlers(IdleStateHandler(readTimeout: read), ClosesOnEvent(closings, timeout))
                    case .hrtimer: try pipeline.addHandler(ClosesByTimeout(closings, timeout, engine))
                    }
                    try pipeline.addHandler(Chat(rooms, closings))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        let empty = DispatchSemaphore(value: 0)
        try group.next().submit { closings.whenEmpty = { empty.signal() } }.wait()
        let before_KiB = Usage.resident_KiB ?? 0
        // Each run has its own addresses, since the ports of the run before stay in TIME_WAIT for a minute.
        let address = Way.allCases.firstIndex(of: way)! * 64 + shard * 8
        // Without a timeout the client leaves by itself: only its talking is measured.
        let people = try Child([
            "--client", "\(server.localAddress!.port!)", "\(count)", "\(rate)", "\(seconds)", "\(address)",
        ])
        people.awaitLine("connected")
        // The last connections may still be in the backlog.
        while try group.next().submit({ closings.entered }).wait() < count { usleep(10_000) }
        let resident_KiB = Usage.resident_KiB ?? 0
        let begin = Usage.now()
        if way == .none {
            usleep(UInt32(seconds * 1e6))
            people.end()
        }
        empty.wait()
        let used = Usage.now() - begin
        let status = people.waitForEnd()
        guard way == .none || status == 0 else { fatalError("the client failed: \(String(cString: strerror(status)))") }
        guard closings.early == 0 else { fatalError("\(closings.early) connections were closed too early") }
        engine.shutdown()
        return Figures.Row(
            way.name,
            isOurs: way == .hrtimer,
            samples_ns: closings.lateness_ns,
            facts: [
                "connections": Double(closings.peak),
                "CPU of the server, s": Double(used.cpu_ns) / 1e9,
                "context switches": Double(used.contextSwitches),
                "memory a connection, KiB": Double(resident_KiB - before_KiB) / Double(count),
            ]
        )
    }
}

/// A child process of this program, with other arguments.
final class Child {
    private let process = Process()
    private let output = Pipe()

    init(_ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
    }

    func awaitLine(_ line: String) {
        let data = output.fileHandleForReading.availableData
        guard String(decoding: data, as: UTF8.self).contains(line) else { fatalError("the client could not connect") }
    }

    func end() { process.terminate() }

    func waitForEnd() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    func readAll() -> Data { output.fileHandleForReading.readDataToEndOfFile() }
}
