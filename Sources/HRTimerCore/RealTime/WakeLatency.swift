#if os(Linux)
import HRTimerLibc

/// A bound on how long the system's processors take to leave an idle state. It holds as long as the file is open; the
/// kernel uses the least of all bounds (Documentation/power/pm_qos_interface.rst).
final class WakeLatency: Sendable {
    private let descriptor: Int32

    init(_ latency: Duration) throws(TimerError) {
        let operation = "set wakeLatency to \(latency) by /dev/cpu_dma_latency (takes 0 ... 2000 s)"
        guard latency >= .zero, latency <= .seconds(2000) else {
            throw TimerError(operation: operation, errorNumber: EINVAL)
        }
        var latency_us = Int32(latency / .microseconds(1))
        descriptor = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TimerError(operation: operation, errorNumber: errno) }
        if write(descriptor, &latency_us, 4) != 4 {
            let error = errno
            close(descriptor)
            throw TimerError(operation: operation, errorNumber: error)
        }
    }

    deinit { close(descriptor) }
}
#endif
