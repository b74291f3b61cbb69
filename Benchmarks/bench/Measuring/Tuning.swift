// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Glibc

/// The settings that a run requests from the machine beyond those of an ordinary process. They change no library's own
/// settings.
struct Tuning: Sendable {
    /// Whether measuring threads have timer slack 1 ns, all threads SCHED_FIFO, and memory is locked.
    var isTuned = false
    /// The processors for the process, one bit each; nil for any.
    var cpus: UInt64?
    /// The bound of the processors' wake latency, pm_qos. A separate option: with 0 many guests poll instead of idling, at
    /// the expense of the host, not of the process.
    var wakeLatency_us: Int32?

    /// A setting, and the errno of its refusal; 0 if it was granted.
    struct Grant: Sendable, Equatable {
        let name: String
        let error: Int32

        var text: String {
            error == 0 ? "\(name): granted" : "\(name): refused, \(String(cString: strerror(error)))"
        }
    }

    /// Changes the calling thread, which is a fresh one that ends with its block, and all other threads of the process: the
    /// threads of a pool that calls a subject's handlers then have the same class.
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
    /// The settings that were granted and refused, including those of threads.
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
