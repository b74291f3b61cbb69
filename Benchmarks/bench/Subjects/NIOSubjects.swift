// SPDX-License-Identifier: Apache-2.0
#if NIO
import CBench
import NIOCore
import NIOPosix

extension Subject {
    /// SwiftNIO's timers, each on its own loop, rearmed by the loop itself.
    static let nio: [Subject] = [
        Subject("nio.schedule-task", "EventLoop.scheduleTask for each deadline") { recorder in
            try onEventLoop(recorder) { scheduleTask(recorder, $0) }
        },
        Subject("nio.schedule-callback", "EventLoop.scheduleCallback for each deadline, which allocates no closure") {
            let callback = Callback(recorder: $0)
            try onEventLoop($0) { callback.schedule(on: $0) }
        },
    ]

    private static func onEventLoop(
        _ recorder: BlockRecorder,
        _ start: @escaping @Sendable (any EventLoop) -> Void
    ) throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let loop = group.next()
        loop.execute {
            _ = recorder.begin()
            start(loop)
        }
        try recorder.waitUntilFull()
    }

    private static func scheduleTask(_ recorder: BlockRecorder, _ loop: any EventLoop) {
        loop.scheduleTask(deadline: .uptimeNanoseconds(UInt64(recorder.nextDeadline_ns))) {
            let woke_ns = cbench_now_ns()
            if recorder.fire(woke_ns) { scheduleTask(recorder, loop) }
        }
    }

    private struct Callback: NIOScheduledCallbackHandler, Sendable {
        let recorder: BlockRecorder

        func handleScheduledCallback(eventLoop: some EventLoop) {
            let woke_ns = cbench_now_ns()
            if recorder.fire(woke_ns) { schedule(on: eventLoop) }
        }

        func schedule(on loop: any EventLoop) {
            // Throws only for a loop that was shut down, which ends the block as well.
            _ = try? loop.scheduleCallback(
                at: .uptimeNanoseconds(UInt64(recorder.nextDeadline_ns)),
                handler: self
            )
        }
    }
}
#else
extension Subject {
    /// Listed nevertheless.
    static let nio: [Subject] = ["nio.schedule-task", "nio.schedule-callback"].map { id in
        Subject(id, "SwiftNIO's \(id == "nio.schedule-task" ? "scheduleTask" : "scheduleCallback")") { _ in
            throw BenchError(withoutNIO)
        }
    }
}
#endif

extension Subject {
    static let withoutNIO = "built without SwiftNIO: swift run -c release --traits NIO bench"

    #if NIO
    static let hasNIO = true
    #else
    static let hasNIO = false
    #endif
}
