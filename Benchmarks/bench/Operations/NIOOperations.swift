// SPDX-License-Identifier: Apache-2.0
#if NIO
import CBench
import NIOCore
import NIOPosix

extension PublicOperations {
    /// Runs on the loop's own thread, so that NIO need not wake another thread.
    static func reArmNIO(_ timers: Int) -> OperationRival {
        rival("nio.schedule-callback") { deadlines in
            try onEventLoop(deadlines) { loop, deadlines in
                var callbacks = try makePending(timers) { try! scheduled(deadlines.any(), on: loop) }
                return OperationLoop().measure { index in
                    let timer = deadlines.timer(below: timers)
                    callbacks[timer].cancel()
                    callbacks[timer] = try! scheduled(deadlines.later(index), on: loop)
                }
            }
        }
    }

    static func churnNIO(_ timers: Int) -> OperationRival {
        rival("nio.schedule-callback") { deadlines in
            try onEventLoop(deadlines) { loop, deadlines in
                _ = try makePending(timers) { try! scheduled(deadlines.any(), on: loop) }
                return OperationLoop().measure { _ in try! scheduled(deadlines.any(), on: loop).cancel() }
            }
        }
    }

    /// NIO's timer without a closure: the handler is an object, as large as the payload of other rivals' closures.
    private final class Handler: NIOScheduledCallbackHandler, Sendable {
        func handleScheduledCallback(eventLoop: some EventLoop) {}
    }

    /// Throws only for a loop that was shut down.
    private static func scheduled(_ deadline_ns: Int64, on loop: any EventLoop) throws -> NIOScheduledCallback {
        try loop.scheduleCallback(at: .uptimeNanoseconds(UInt64(deadline_ns)), handler: Handler())
    }

    /// Shutting the loop down releases the pending timers; cancelling them one by one would take minutes.
    private static func onEventLoop(
        _ deadlines: Deadlines,
        _ body: @escaping @Sendable (any EventLoop, inout Deadlines) throws -> OperationSample
    ) throws -> OperationSample {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let loop = group.next()
        return try loop.submit {
            var deadlines = deadlines
            return try body(loop, &deadlines)
        }.wait()
    }
}
#else
extension PublicOperations {
    static func reArmNIO(_ timers: Int) -> OperationRival { withoutNIO }
    static func churnNIO(_ timers: Int) -> OperationRival { withoutNIO }

    private static var withoutNIO: OperationRival {
        OperationRival(id: "nio.schedule-callback") { _ in throw BenchError(Subject.withoutNIO) }
    }
}
#endif
