// SPDX-License-Identifier: Apache-2.0
// What the idle timeouts of 10,000 connections cost one event loop: to start them, a read, while all are in use, and when all expire.
// Sockets that nothing arrives at; what the handlers see is fired by hand.
import CMeasure
import Glibc
import NIOCore
import NIOPosix

let connections = 10_000
let timeout = TimeAmount.seconds(1)

final class Expiries: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    var lastRead = NIODeadline.now()
    var lateness_ns: Int64?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if lateness_ns == nil { lateness_ns = (.now() - (lastRead + timeout)).nanoseconds }
    }
}

/// What belongs to the event loop's thread.
final class Connections: @unchecked Sendable {
    // Sendable: once made, only the event loop uses it.
    var all: [(pipeline: ChannelPipeline.SynchronousOperations, expiries: Expiries)] = []

    func read() {
        let data = ByteBuffer()
        for connection in all {
            connection.expiries.lastRead = .now()
            connection.pipeline.fireChannelRead(NIOAny(data))
            connection.pipeline.fireChannelReadComplete()
        }
    }

    func costOfRead_ns() -> Double {
        let rounds = 20
        let start_ns = measured_thread_ns()
        for _ in 0..<rounds { read() }
        return (measured_thread_ns() - start_ns) / Double(rounds * all.count)
    }
}

guard measured_open_files(UInt64(connections + 100)) else {
    print("the process may not open a file a connection, \(connections): ulimit -n")
    exit(1)
}

let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let loop = group.next()
let open = Connections()
for _ in 0..<connections {
    let channel = try DatagramBootstrap(group: group).bind(host: "127.0.0.1", port: 0).wait()
    try loop.submit {
        let expiries = Expiries()
        try channel.pipeline.syncOperations.addHandler(expiries)
        open.all.append((channel.pipeline.syncOperations, expiries))
    }.wait()
}

/// Returns after that time what the process and the event loop's thread have used.
func wait(_ milliseconds: useconds_t) throws -> (process_ns: Double, loop_ns: Double) {
    let before = (measured_process().cpu_ns, try loop.submit { measured_thread_ns() }.wait())
    usleep(milliseconds * 1000)
    let after = (measured_process().cpu_ns, try loop.submit { measured_thread_ns() }.wait())
    return (after.0 - before.0, after.1 - before.1)
}

_ = try loop.submit { open.costOfRead_ns() }.wait()
let bare_ns = try loop.submit { open.costOfRead_ns() }.wait()
let before = measured_process()
try loop.submit {
    for connection in open.all {
        let handler = IdleStateHandler(readTimeout: timeout)
        try connection.pipeline.addHandler(handler, position: .before(connection.expiries))
    }
}.wait()
let started = measured_process()
print("heap a connection, bytes\t", (started.heap_bytes - before.heap_bytes) / Double(connections))
print("CPU to start one, ns\t", (started.cpu_ns - before.cpu_ns) / Double(connections))
print("CPU a read, ns\t", try loop.submit { open.costOfRead_ns() }.wait() - bare_ns)

// In use for three periods: each connection reads four times a period.
let reads = loop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(250)) { _ in open.read() }
let inUse = try wait(3000)
reads.cancel()
print("in use, CPU of the event loop a connection and period, ns\t", inUse.loop_ns / Double(3 * connections))
print("in use, CPU of the process a connection and period, ns\t", inUse.process_ns / Double(3 * connections))
try loop.submit { open.read() }.wait()

let idle = try wait(1500)
let lateness_ns = try loop.submit { open.all.compactMap(\.expiries.lateness_ns).sorted() }.wait()
guard lateness_ns.count == connections, lateness_ns[0] >= 0 else {
    print("\(lateness_ns.count) of \(connections) timeouts expired; the earliest \(lateness_ns.first ?? 0) ns late")
    exit(1)
}
print("an expiry, CPU of the event loop, ns\t", idle.loop_ns / Double(connections))
print("an expiry, CPU of the process, ns\t", idle.process_ns / Double(connections))
print("an expiry, p50 late, ms\t", Double(lateness_ns[connections / 2]) / 1e6)
print("an expiry, p99 late, ms\t", Double(lateness_ns[connections * 99 / 100]) / 1e6)
