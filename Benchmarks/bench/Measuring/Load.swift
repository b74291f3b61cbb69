import CBench
import Glibc

/// What else the machine has to do meanwhile.
enum LoadKind: String, CaseIterable, Sendable {
    case none, cpu
}

/// Processes that keep the processors busy. They end with `stop()`, with this object, or with the bench, however it ends.
final class Load {
    private(set) var processes: [Int32] = []

    /// One hog for each processor that the process may run on.
    init(_ kind: LoadKind) throws {
        guard kind == .cpu else { return }
        for _ in 0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) {
            var process: Int32 = 0
            let status = cbench_load_start(&process)
            guard status == 0 else {
                stop()
                throw BenchError("--load cpu cannot start a process: \(String(cString: strerror(-status)))")
            }
            processes.append(process)
        }
    }

    deinit {
        stop()
    }

    func stop() {
        for process in processes { cbench_load_stop(process) }
        processes = []
    }
}
