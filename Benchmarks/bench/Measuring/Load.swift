// SPDX-License-Identifier: Apache-2.0
import CBench
import Glibc

/// The work that the machine has to do besides the measurement.
enum LoadKind: Sendable, Equatable {
    case none
    /// A process for each processor that computes endlessly.
    case cpu
    /// A process with this number of timers, each at `loadRate_hz`.
    case timers(Int)
    /// A command for the shell.
    case command(String)

    /// The text of the option that selects this load.
    var text: String {
        switch self {
        case .none: "none"
        case .cpu: "cpu"
        case .timers(let timers): "timers:\(timers)"
        case .command(let command): "cmd:\(command)"
        }
    }

    static let loadRate_hz = 10
}

/// Processes that keep the machine busy; their own time does not count as the bench's. They end with `stop()`, with this
/// object, or with the bench, in whatever way it ends.
final class Load {
    private(set) var processes: [Int32] = []
    private let kind: LoadKind

    init(_ kind: LoadKind) throws {
        self.kind = kind
        switch kind {
        case .none: break
        case .cpu:
            // One hog for each online processor.
            for _ in 0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) {
                try start(["/bin/sh", "-c", "while :; do :; done"])
            }
        case .timers(let timers): try start([try benchPath(), "load-timers", "\(timers)"])
        case .command(let command): try start(["/bin/sh", "-c", command])
        }
    }

    deinit {
        stop()
    }

    func stop() {
        for process in processes { cbench_load_stop(process) }
        processes = []
    }

    /// Returns whether a load has ended by itself: what was measured after that was measured without it.
    func hasEnded() -> Bool {
        var status: CInt = 0
        let ended = processes.filter { cbench_load_has_ended($0, &status) != 0 }
        processes.removeAll { ended.contains($0) }
        return !ended.isEmpty
    }

    private func start(_ arguments: [String]) throws {
        let copies = arguments.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        // The pointers remain valid long enough: the call returns only when the program has been started or has failed.
        var pointers = copies.map { UnsafePointer<CChar>($0) }
        pointers.append(nil)
        var process: Int32 = 0
        let status = cbench_load_execute(&pointers, &process)
        guard status == 0 else {
            stop()
            throw BenchError("--load \(kind.text) cannot be started: \(String(cString: strerror(-status)))")
        }
        processes.append(process)
    }
}

/// Returns the path of this program. Also correct in tests, whose program is in the same directory.
func benchPath() throws -> String {
    guard let path = realpath("/proc/self/exe", nil) else { throw BenchError("no path to this program") }
    defer { free(path) }
    let directory = String(cString: path).split(separator: "/", omittingEmptySubsequences: false).dropLast()
    return (directory + ["bench"]).joined(separator: "/")
}

/// Parses the value of `--load`.
@Sendable
func parseLoad(_ text: String) throws -> LoadKind {
    if text == "none" { return .none }
    if text == "cpu" { return .cpu }
    if text.hasPrefix("timers:"), let timers = Int(text.dropFirst(7)), (1...1_000_000).contains(timers) {
        return .timers(timers)
    }
    if text.hasPrefix("cmd:"), text.count > 4 { return .command(String(text.dropFirst(4))) }
    throw LoadKind.usage
}
