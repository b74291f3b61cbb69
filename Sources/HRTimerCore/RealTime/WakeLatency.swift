// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// Bounds on how long processors take to leave an idle state. They hold only while a precise timer is due within a second,
/// since each of them costs power.
package final class WakeLatency: @unchecked Sendable {
    // Sendable: only the thread whose settings they are touches them.

    /// How long before the deadline the bounds begin to hold. Setting one takes microseconds and wakes all processors, which is
    /// little once a second at most. A timer that repeats each second or more often keeps them.
    package static let lead_ns: Int64 = 1_000_000_000

    var system: SystemWakeLatency?
    var processors: ProcessorWakeLatency?
    private var isHeld = false

    var isEmpty: Bool { system == nil && processors == nil }

    package func hold(_ isHeld: Bool) {
        if isHeld == self.isHeld { return }
        self.isHeld = isHeld
        system?.hold(isHeld)
        processors?.hold(isHeld)
    }

    /// Holds the bounds if the next precise timer, due at `precise_ns`, is due soon. The thread is about to sleep until
    /// `until_ns`. If the timer is due later, but before the end of that sleep, calls `sleep` first, without a bound, until it
    /// is due soon. Returns true if that sleep was woken.
    package func holdIfSoon(
        _ precise_ns: Int64,
        now_ns: Int64,
        until_ns: Int64,
        _ sleep: (Int64) -> Bool
    ) -> Bool {
        let soon_ns = precise_ns.subtractingSaturating(Self.lead_ns)
        if now_ns < soon_ns {
            hold(false)
            if precise_ns == .max || until_ns <= soon_ns { return false }
            if sleep(soon_ns) { return true }
        }
        hold(true)
        return false
    }

    deinit { hold(false) }
}

/// A bound for the whole system. It holds as long as the file is open and has the value; the kernel uses the least of all
/// values (Documentation/power/pm_qos_interface.rst).
final class SystemWakeLatency {
    private let descriptor: Int32
    private let latency_us: Int32
    /// PM_QOS_CPU_LATENCY_DEFAULT_VALUE, which means no bound: 2000 s.
    private static let unbounded_us: Int32 = 2_000_000_000

    init(_ latency: Duration) throws(TimerError) {
        let request = SettingRequest(
            operation: "set wakeLatency to \(latency.inWords) by /dev/cpu_dma_latency",
            rights: "the right to write /dev/cpu_dma_latency",
            range: "0 ... 2000 s"
        )
        latency_us = try microseconds(latency, request)
        descriptor = unsafe open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw request.refusal(errno) }
        // Opening the file has requested no bound. This write tells whether one may be written.
        if !write(Self.unbounded_us) {
            let error = errno
            close(descriptor)
            throw request.refusal(error)
        }
    }

    deinit { close(descriptor) }

    func hold(_ isHeld: Bool) { _ = write(isHeld ? latency_us : Self.unbounded_us) }

    private func write(_ value_us: Int32) -> Bool {
        // Safe: 4 is the value's size.
        unsafe withUnsafeBytes(of: value_us) { unsafe HRTimerLibc.write(descriptor, $0.baseAddress, 4) == 4 }
    }
}

/// Returns whole microseconds, rounded down; the kernel's files take 31 bits.
func microseconds(_ latency: Duration, _ request: SettingRequest) throws(TimerError) -> Int32 {
    guard latency >= .zero, latency <= .seconds(2000) else { throw request.refusal(EINVAL) }
    return Int32(latency / .microseconds(1))
}
#endif
