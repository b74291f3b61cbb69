// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimer

/// A kind of crowd that can be measured.
struct CrowdRival: Sendable {
    /// Stable, because scripts use it.
    let id: String
    let takesTolerance: Bool
    let make: @Sendable () throws -> any Crowd

    init(_ id: String, takesTolerance: Bool = false, _ make: @escaping @Sendable () throws -> any Crowd) {
        self.id = id
        self.takesTolerance = takesTolerance
        self.make = make
    }

    static let all = [
        CrowdRival("hrtimer.engine.normal") { try EngineCrowd(.normal) },
        CrowdRival("hrtimer.engine.precise") { try EngineCrowd(.precise) },
        CrowdRival("hrtimer.engine.coalesced", takesTolerance: true) { try EngineCrowd(.coalesced) },
        CrowdRival("hrtimer.source.normal") { try SourceCrowd(.normal) },
        CrowdRival("hrtimer.source.coalesced", takesTolerance: true) { try SourceCrowd(.coalesced) },
        CrowdRival("hrtimer.source.dispatch-queue.normal") { try SourceCrowd(.normal, onQueue: true) },
        CrowdRival("hrtimer.loop-timer.normal") { LoopTimerCrowd(.normal) },
        CrowdRival("hrtimer.loop-timer.coalesced", takesTolerance: true) { LoopTimerCrowd(.coalesced) },
        CrowdRival("hrtimer.clock-sleep.normal") { try TaskCrowd.monotonicClock(onExecutor: false) },
        CrowdRival("hrtimer.executor-sleep.normal") { try TaskCrowd.monotonicClock(onExecutor: true) },
        CrowdRival("limit.sorted-closures", takesTolerance: true) { SortedLimitCrowd() },
        CrowdRival("dispatch.source", takesTolerance: true) { DispatchCrowd() },
        CrowdRival("swift.task-sleep", takesTolerance: true) { TaskCrowd.taskSleep() },
        CrowdRival("foundation.timer", takesTolerance: true) { FoundationTimerCrowd() },
        CrowdRival("libevent.timer") { CCrowd(cbench_libevent_crowd) },
        CrowdRival("kernel.timerfd-epoll") { CCrowd(cbench_timerfd_crowd) },
        nio,
    ]

    /// Listed also without SwiftNIO.
    private static let nio = CrowdRival("nio.schedule-callback") {
        #if NIO
        NIOCrowd()
        #else
        throw BenchError(Subject.withoutNIO)
        #endif
    }
}
