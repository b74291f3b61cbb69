// SPDX-License-Identifier: Apache-2.0
// Our own idle handler with the public names of NIO's. A read touches a timeout, where NIO's notes the time and schedules a task
// anew once a period. The engine's thread takes the event loop's place until a timeout expires.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
public final class IdleStateHandler: ChannelDuplexHandler, RemovableChannelHandler {
    public typealias InboundIn = NIOAny
    public typealias InboundOut = NIOAny
    public typealias OutboundIn = NIOAny
    public typealias OutboundOut = NIOAny

    public enum IdleStateEvent: Sendable { case write, read, all }

    public let readTimeout: TimeAmount?
    public let writeTimeout: TimeAmount?
    public let allTimeout: TimeAmount?

    /// Between a read and the end of that series of reads, when nothing is idle.
    private var isReading = false
    private var readIdle: IdleTimeout?
    private var writeIdle: IdleTimeout?
    private var allIdle: IdleTimeout?

    public init(readTimeout: TimeAmount? = nil, writeTimeout: TimeAmount? = nil, allTimeout: TimeAmount? = nil) {
        self.readTimeout = readTimeout
        self.writeTimeout = writeTimeout
        self.allTimeout = allTimeout
    }

    public func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { start(context) }
    }

    public func handlerRemoved(context: ChannelHandlerContext) {
        for timeout in [readIdle, writeIdle, allIdle] { timeout?.cancel() }
        (readIdle, writeIdle, allIdle) = (nil, nil, nil)
    }

    public func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        context.fireChannelRead(data)
    }

    public func channelReadComplete(context: ChannelHandlerContext) {
        if isReading {
            isReading = false
            // Not `touch`: it may have expired, with the event on its way to this loop.
            readIdle?.resume()
            allIdle?.resume()
        }
        context.fireChannelReadComplete()
    }

    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard writeIdle != nil || allIdle != nil else { return context.write(data, promise: promise) }
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        let mine = NIOLoopBound(self, eventLoop: context.eventLoop)
        written.futureResult.hop(to: context.eventLoop).whenComplete { _ in
            mine.value.writeIdle?.resume()
            mine.value.allIdle?.resume()
        }
        context.write(data, promise: written)
    }

    private func start(_ context: ChannelHandlerContext) {
        readIdle = timeout(readTimeout, .read, context)
        writeIdle = timeout(writeTimeout, .write, context)
        allIdle = timeout(allTimeout, .all, context)
    }

    private func timeout(
        _ amount: TimeAmount?,
        _ event: IdleStateEvent,
        _ context: ChannelHandlerContext
    ) -> IdleTimeout? {
        guard let amount else { return nil }
        let loop = context.eventLoop
        let mine = NIOLoopBound((handler: self, context: context), eventLoop: loop)
        return IdleTimeout(Duration.nanoseconds(amount.nanoseconds)) {
            loop.execute { mine.value.handler.expired(event, mine.value.context) }
        }
    }

    private func expired(_ event: IdleStateEvent, _ context: ChannelHandlerContext) {
        let timeout =
            switch event {
            case .read: readIdle
            case .write: writeIdle
            case .all: allIdle
            }
        // If it runs again, something came while the call was on its way here.
        guard let timeout, timeout.nextDeadline == nil, context.channel.isActive else { return }
        timeout.resume()
        if isReading, event != .write { return }
        context.fireUserInboundEventTriggered(event)
    }
}
