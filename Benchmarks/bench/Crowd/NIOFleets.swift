#if NIO
import NIOCore
import NIOPosix

/// SwiftNIO's callbacks, all on one loop, each of which rearms itself.
final class NIOFleet: RatedCrowd {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    func arm(_ fleet: Fleet) throws {
        let loop = group.next()
        try loop.submit {
            try armPending(fleet.timers.count, within: fleet.armingLimit) { index in
                Callback(member: fleet.member(index), repeats: fleet.timers[index].interval_ns != nil).schedule(
                    on: loop
                )
            }
        }.wait()
    }

    func clear() { try? group.syncShutdownGracefully() }

    private struct Callback: NIOScheduledCallbackHandler, Sendable {
        let member: Fleet.Member
        let repeats: Bool

        func handleScheduledCallback(eventLoop: some EventLoop) {
            member.fire()
            if repeats { schedule(on: eventLoop) }
        }

        func schedule(on loop: any EventLoop) {
            // Throws only for a loop that was shut down.
            _ = try? loop.scheduleCallback(at: .uptimeNanoseconds(UInt64(member.next_ns)), handler: self)
        }
    }
}

extension CrowdRival {
    static let nioFleets = [CrowdRival("nio.schedule-callback") { NIOFleet() }]
}
#else
extension CrowdRival {
    /// Listed nevertheless.
    static let nioFleets = [CrowdRival("nio.schedule-callback") { throw BenchError(Subject.withoutNIO) }]
}
#endif
