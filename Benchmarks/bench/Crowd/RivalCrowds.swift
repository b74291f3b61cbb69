// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import Foundation

#if NIO
import NIOCore
import NIOPosix
#endif

/// Dispatch's timers on one serial queue.
final class DispatchCrowd: Crowd {
    private let queue = DispatchQueue(label: "bench.crowd")
    private let living = DispatchGroup()
    private var sources: [any DispatchSourceTimer] = []

    func arm(_ fleet: Fleet) throws {
        try fleet.armEach { timer, member in
            let source = DispatchSource.makeTimerSource(queue: queue)
            living.enter()
            source.setEventHandler { member.fire() }
            source.setCancelHandler { [living] in living.leave() }
            source.schedule(
                deadline: DispatchTime(instant_ns: timer.first_ns),
                repeating: timer.interval_ns.map { .nanoseconds(Int($0)) } ?? .never,
                leeway: .nanoseconds(Int(timer.tolerance_ns))
            )
            source.activate()
            sources.append(source)
        }
    }

    /// Waits for the cancel handlers, so that Dispatch's work of ending the timers does not disturb the next measurement.
    func clear() {
        for source in sources { source.cancel() }
        living.wait()
    }
}

/// Foundation's timers, on the run loop of the measuring thread.
final class FoundationTimerCrowd: Crowd {
    private var timers: [Timer] = []

    func arm(_ fleet: Fleet) throws {
        let dates = DateGrid()
        try fleet.armEach { crowdTimer, member in
            let timer = Timer(
                fire: dates.date(at: crowdTimer.first_ns),
                interval: Double(crowdTimer.interval_ns ?? 0) / 1e9,
                repeats: crowdTimer.interval_ns != nil
            ) { _ in member.fire() }
            timer.tolerance = Double(crowdTimer.tolerance_ns) / 1e9
            RunLoop.current.add(timer, forMode: .default)
            timers.append(timer)
        }
    }

    func run(until instant_ns: Int64) { RunLoop.current.run(until: DateGrid().date(at: instant_ns)) }

    /// Invalidates the earliest timer first, because a run loop searches for the timer from there.
    func clear() {
        for timer in timers.sorted(by: { $0.fireDate < $1.fireDate }) { timer.invalidate() }
    }
}

/// A crowd in C: crowds.c.
final class CCrowd: Crowd {
    private let make: (UnsafeMutablePointer<cbench_member>, Int) -> OpaquePointer?
    private var handle: OpaquePointer?

    init(_ make: @escaping (UnsafeMutablePointer<cbench_member>, Int) -> OpaquePointer?) {
        self.make = make
    }

    func arm(_ fleet: Fleet) throws {
        handle = make(fleet.members, fleet.timers.count)
        if handle == nil { throw BenchError(String(cString: strerror(errno))) }
    }

    func run(until instant_ns: Int64) {
        if let handle { cbench_crowd_run(handle, instant_ns) }
    }

    func clear() {
        if let handle { cbench_crowd_destroy(handle) }
        handle = nil
    }
}

#if NIO
/// SwiftNIO's callbacks, all on one loop, each of which rearms itself.
final class NIOCrowd: Crowd {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    func arm(_ fleet: Fleet) throws {
        let loop = group.next()
        try loop.submit {
            try fleet.armEach { Callback(member: $1, repeats: $0.interval_ns != nil).schedule(on: loop) }
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
#endif
