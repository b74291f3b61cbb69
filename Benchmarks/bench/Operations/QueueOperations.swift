// SPDX-License-Identifier: Apache-2.0
import CBench
import Glibc

/// The C workloads: our queue alone, and queues of others, without locks, threads or handlers around them.
enum QueueOperations {
    struct Workload: Sendable {
        let operation: String
        let kind: cbench_ops_workload
        let explanation: String
    }

    static let workloads = [
        Workload(
            operation: "arm-cancel",
            kind: CBENCH_OPS_ARM_CANCEL,
            explanation: "cancel a random timer and arm a new one, uniform in 1 ms ... 60 s, time standing still"
        ),
        Workload(
            operation: "re-arm",
            kind: CBENCH_OPS_RE_ARM_LATER,
            explanation: "move a random timer to 30 s from now, time running 10 µs an operation: the keep-alive"
        ),
        Workload(
            operation: "arm-cancel-equal",
            kind: CBENCH_OPS_ARM_CANCEL_EQUAL,
            explanation:
                "cancel a random timer and arm one 30 s from now, time running 10 µs an operation: equal timeouts"
        ),
        Workload(
            operation: "next-deadline",
            kind: CBENCH_OPS_NEXT_DEADLINE,
            explanation: "arm-cancel, and ask for the next deadline after every operation"
        ),
        Workload(
            operation: "expire",
            kind: CBENCH_OPS_EXPIRE,
            explanation: "fire all timers, uniform in 10 s, in steps of 1 ms; an operation is one fired timer"
        ),
        Workload(
            operation: "expire-clustered",
            kind: CBENCH_OPS_EXPIRE_CLUSTERED,
            explanation: "fire all timers, a hundredth of them at once every 100 ms, in steps of 1 ms"
        ),
        Workload(
            operation: "pass",
            kind: CBENCH_OPS_PASS,
            explanation: "let 1 ms pass in which nothing is due, the first timer in a day; an operation is 1 ms"
        ),
    ]

    static func comparison(_ workload: Workload, timers: Int) -> OperationComparison {
        let rivals = rivals(of: workload.kind).map { rival in
            OperationRival(id: String(cString: cbench_ops_rival_id(rival))) { seed in
                try sample(workload.kind, rival, timers: timers, seed: seed)
            }
        }
        return OperationComparison(
            operation: workload.operation,
            explanation: workload.explanation,
            timers: timers,
            baseID: "hrtimer.queue",
            isPinned: true,
            rivals: rivals
        )
    }

    /// Returns the rivals that support the workload. libevent does not report its next deadline, and the limits, an empty
    /// loop and accesses to random cache lines, fire nothing.
    private static func rivals(of kind: cbench_ops_workload) -> [cbench_ops_rival] {
        let queues = [CBENCH_OPS_HRT_QUEUE, CBENCH_OPS_QUATERNARY_HEAP, CBENCH_OPS_BINARY_HEAP]
        let limits = [CBENCH_OPS_TOUCH, CBENCH_OPS_NULL]
        switch kind {
        case CBENCH_OPS_NEXT_DEADLINE: return queues + limits
        case CBENCH_OPS_RE_ARM_LATER, CBENCH_OPS_ARM_CANCEL:
            return [CBENCH_OPS_HRT_QUEUE, CBENCH_OPS_HRT_QUEUE_OWNER, CBENCH_OPS_HRT_QUEUE_TOLERANT]
                + queues.dropFirst()
                + [CBENCH_OPS_LIBEVENT, CBENCH_OPS_TOUCH_TOKEN] + limits
        case CBENCH_OPS_ARM_CANCEL_EQUAL: return queues + [CBENCH_OPS_LIBEVENT] + limits
        default: return queues + [CBENCH_OPS_LIBEVENT]
        }
    }

    private static func sample(
        _ kind: cbench_ops_workload,
        _ rival: cbench_ops_rival,
        timers: Int,
        seed: UInt64
    ) throws -> OperationSample {
        var result = cbench_ops_result()
        let status = cbench_ops_run(kind, rival, timers, seed, &result)
        if status != 0 { throw BenchError(String(cString: strerror(-status))) }
        return OperationSample(
            nsPerOp: result.ns_per_op,
            longestCall_ns: result.longest_call_ns > 0 ? result.longest_call_ns : nil,
            pollP999_ns: result.poll_p999_ns > 0 ? Double(result.poll_p999_ns) : nil,
            bytesPerTimer: result.bytes_per_timer > 0 ? result.bytes_per_timer : nil,
            early: result.early,
            // libevent's deadlines count from its own reading of the clock at each arming, so that two of them may be in
            // another order than in the workload: that is not its fault.
            inversions: rival == CBENCH_OPS_LIBEVENT ? 0 : result.inversions
        )
    }
}
