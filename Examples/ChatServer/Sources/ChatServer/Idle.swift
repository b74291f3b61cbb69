// SPDX-License-Identifier: Apache-2.0
import HRTimer
import Measured
import NIOCore
import NIOPosix

/// How a server closes silent connections.
enum Way: String, CaseIterable, Sendable {
    case none, nio, hrtimer

    var name: String {
        switch self {
        case .none: "no timeout"
        case .nio: "IdleStateHandler"
        case .hrtimer: "IdleTimeout"
        }
    }
}

/// Counts of the connections, and how much later than their timeout the silent ones were closed.
final class Closings: @unchecked Sendable {
    // Sendable: used only on one event loop, and read after that has ended.
    var lateness_ns: [Int64] = []
    var early = 0
    var open = 0
    var peak = 0
    var entered = 0
    var whenEmpty: () -> Void = {}

    func note(silence_ns: Int64, timeout: Duration) {
        let late_ns = silence_ns - Int64(timeout / .nanoseconds(1))
        if late_ns < 0 { early += 1 }
        lateness_ns.append(late_ns)
    }
}

/// Closes the connection when NIO's IdleStateHandler reports that nothing was read.
final class ClosesOnEvent: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let closings: Closings
    private let timeout: Duration
    private var lastRead_ns = monotonic_ns

    init(_ closings: Closings, _ timeout: Duration) { (self.closings, self.timeout) = (closings, timeout) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastRead_ns = monotonic_ns
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        closings.note(silence_ns: monotonic_ns - lastRead_ns, timeout: timeout)
        context.close(promise: nil)
    }
}

/// Closes the connection by this library's timeout: each read touches it, and its call is passed to the channel's event loop.
final class ClosesByTimeout: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let closings: Closings
    private let timeout: Duration
    private let engine: TimerEngine
    private var lastRead_ns = monotonic_ns
    private var idle: IdleTimeout?

    init(_ closings: Closings, _ timeout: Duration, _ engine: TimerEngine) {
        (self.closings, self.timeout, self.engine) = (closings, timeout, engine)
    }

    func channelActive(context: ChannelHandlerContext) {
        let (loop, bound) = (context.eventLoop, NIOLoopBound((self, context), eventLoop: context.eventLoop))
        lastRead_ns = monotonic_ns
        idle = IdleTimeout(timeout, engine: engine) {
            loop.execute {
                let (handler, context) = bound.value
                // Something may have been read meanwhile.
                guard let idle = handler.idle, idle.nextDeadline == nil else { return }
                handler.closings.note(silence_ns: monotonic_ns - handler.lastRead_ns, timeout: handler.timeout)
                context.close(promise: nil)
            }
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastRead_ns = monotonic_ns
        // If the timeout has just expired, starts it again: the close that is on its way then finds it running.
        if idle?.touch() == false { idle?.resume() }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        idle?.cancel()
        idle = nil
        context.fireChannelInactive()
    }
}
