import CBench
import CHRTimer
import Glibc

/// What a run asks of the machine beyond an ordinary process. It changes no library's own settings.
struct Tuning: Sendable {
    /// Timer slack 1 ns for measuring threads, SCHED_FIFO for all threads, and locked memory.
    var isTuned = false
    /// Processors for the process, a bit each; nil for any.
    var cpus: UInt64?
    /// Bound of the processors' wake latency, pm_qos. An option of its own: with 0 many guests poll instead of idling, at the
    /// host's cost and not at the process's.
    var wakeLatency_us: Int32?

    /// A setting, and the errno that it was refused with; 0 if it was granted.
    struct Grant: Sendable, Equatable {
        let name: String
        let error: Int32

        var text: String {
            error == 0 ? "\(name): granted" : "\(name): refused, \(String(cString: strerror(error)))"
        }
    }

    /// Changes the calling thread, which is a fresh one that ends with its block, and all others that the process has: a subject
    /// whose handlers come on a pool has that pool's threads in the same class.
    @discardableResult
    func apply() -> [Grant] {
        var settingResults: [Grant] = []
        if let cpus {
            settingResults.append(Grant(name: "affinity", error: -cbench_set_all_threads(cpus, 0)))
        }
        guard isTuned else { return settingResults }
        settingResults.append(Grant(name: "timer slack 1 ns", error: -hrt_thread_set_timer_slack_ns(1)))
        settingResults.append(Grant(name: "SCHED_FIFO", error: -cbench_set_all_threads(0, 1)))
        return settingResults
    }
}

/// The settings of the whole process, for as long as this object lives.
final class TunedProcess {
    let tuning: Tuning
    /// What was granted and refused, of threads too.
    private(set) var settingResults: [Tuning.Grant] = []
    private var latencyDescriptor: CInt = -1
    private var hasLockedMemory = false

    init(_ tuning: Tuning) throws {
        self.tuning = tuning
        settingResults = try onFreshThread { tuning.apply() }
        if let bound_us = tuning.wakeLatency_us { holdLatency(bound_us) }
        guard tuning.isTuned else { return }
        hasLockedMemory = mlockall(CInt(MCL_CURRENT | MCL_FUTURE)) == 0
        settingResults.append(Tuning.Grant(name: "mlockall", error: hasLockedMemory ? 0 : errno))
    }

    deinit {
        if hasLockedMemory { munlockall() }
        if latencyDescriptor >= 0 { close(latencyDescriptor) }
    }

    /// The kernel keeps the bound for as long as the file is open (Documentation/power/pm_qos_interface.rst).
    private func holdLatency(_ bound_us: Int32) {
        var latency_us = bound_us
        latencyDescriptor = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC)
        let isHeld = latencyDescriptor >= 0 && write(latencyDescriptor, &latency_us, 4) == 4
        settingResults.append(Tuning.Grant(name: "cpu_dma_latency \(bound_us)", error: isHeld ? 0 : errno))
    }
}
