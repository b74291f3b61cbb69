import CBench
import CHRTimer
import Glibc

/// What a run asks of the machine beyond an ordinary process.
struct Tuning: Sendable {
    /// Timer slack 1 ns and SCHED_FIFO for measuring threads, locked memory and no deep idle states for the process.
    var isTuned = false
    /// Processors for measuring threads, a bit each; nil for any.
    var cpus: UInt64?

    /// A setting, and the errno that it was refused with; 0 if it was granted.
    struct Grant: Sendable, Equatable {
        let name: String
        let error: Int32

        var text: String {
            error == 0 ? "\(name): granted" : "\(name): refused, \(String(cString: strerror(error)))"
        }
    }

    /// Changes the calling thread, which is a fresh one that ends with its block. Threads that it starts inherit priority
    /// and processors (pthread_create(3)); the pools of Dispatch and Swift are started by others and do not.
    @discardableResult
    func applyToThread() -> [Grant] {
        var settingResults: [Grant] = []
        if let cpus {
            settingResults.append(Grant(name: "affinity", error: -cbench_set_affinity(cpus)))
        }
        guard isTuned else { return settingResults }
        settingResults.append(Grant(name: "timer slack 1 ns", error: -hrt_thread_set_timer_slack_ns(1)))
        // The least priority is above every ordinary thread; more would compete with the kernel's own threads.
        var parameters = sched_param()
        parameters.sched_priority = sched_get_priority_min(SCHED_FIFO)
        settingResults.append(
            Grant(name: "SCHED_FIFO", error: pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters))
        )
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
        settingResults = try onFreshThread { tuning.applyToThread() }
        guard tuning.isTuned else { return }
        hasLockedMemory = mlockall(CInt(MCL_CURRENT | MCL_FUTURE)) == 0
        settingResults.append(Tuning.Grant(name: "mlockall", error: hasLockedMemory ? 0 : errno))
        holdLatency()
    }

    deinit {
        if hasLockedMemory { munlockall() }
        if latencyDescriptor >= 0 { close(latencyDescriptor) }
    }

    /// The kernel keeps the bound for as long as the file is open (Documentation/power/pm_qos_interface.rst).
    private func holdLatency() {
        var latency_us: Int32 = 0
        latencyDescriptor = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC)
        let isHeld = latencyDescriptor >= 0 && write(latencyDescriptor, &latency_us, 4) == 4
        settingResults.append(Tuning.Grant(name: "cpu_dma_latency 0", error: isHeld ? 0 : errno))
    }
}
