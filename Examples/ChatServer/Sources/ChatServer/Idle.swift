import HRTimer
import Measured
import NIOCore
import NIOPosix

/// How a server closes who is silent.
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

/// What closed connections, and how much later than their silence allows. On the event loop alone.
final class Closings: @unchecked Sendable {
    // Sendable: used on one event loop, and read when that has ended.
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

/// NIO's handler tells this one that nothing was read.
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

/// This library's timeout: touched by each read, its call passed to the channel's event loop.
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
                // Meanwhile something may have come.
                guard let idle = handler.idle, !idle.isRunning else { return }
                handler.closings.note(silence_ns: monotonic_ns - handler.lastRead_ns, timeout: handler.timeout)
                context.close(promise: nil)
            }
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastRead_ns = monotonic_ns
        // False if it expired just now: it is started again, and the close that is on its way finds it running.
        if idle?.touch() == false { idle?.resume() }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        idle?.cancel()
        idle = nil
        context.fireChannelInactive()
    }
}
