// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import TestSupport

/// How long threads were runnable and waited for a processor: the delay due to a busy machine, apart from the tested code.
///
/// This is the second number of a thread's schedstat, proc(5), in ns. The kernel updates it when the thread runs.
struct ProcessorWaits: Sendable {
    private let paths = Recorder<String>()

    /// Counts the main thread of `process`, if one is given.
    init(process: pid_t? = nil) {
        if let process { paths.append("/proc/\(process)/schedstat") }
    }

    /// Counts the calling thread as well.
    func addThisThread() { paths.append("/proc/self/task/\(hrt_thread_id())/schedstat") }

    /// The sum of all counted threads so far. A thread that cannot be read, for example of a process that has ended, adds 0.
    var total_ns: Int64 { paths.all.reduce(0) { $0 + Self.read_ns($1) } }

    private static func read_ns(_ path: String) -> Int64 {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 96)
        let count = read(file, &bytes, bytes.count)
        let numbers = bytes.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
        return numbers.count > 1 ? Int64(String(decoding: numbers[1], as: UTF8.self)) ?? 0 : 0
    }
}
