// SPDX-License-Identifier: Apache-2.0
import Glibc

/// What the kernel reports about this process and its threads.
public enum Kernel {
    /// The number of open descriptors of the process.
    public static var openDescriptors: Int {
        entries(of: "/proc/self/fd") - 1  // without the one that reads the directory
    }

    /// The number of threads of the process.
    public static var threads: Int { entries(of: "/proc/self/task") }

    /// The names of the threads of the process.
    public static var threadNames: [String] {
        guard let directory = opendir("/proc/self/task") else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let tid = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let name = text(of: "/proc/self/task/\(tid)/comm") ?? ""
            names += name.split(separator: "\n").map(String.init)
        }
        return names
    }

    /// The size of the address space that the process has mapped, used or not. The first field of proc_pid_statm(5).
    public static var mappedBytes: Int {
        let pages = text(of: "/proc/self/statm")?.split(separator: " ").first.flatMap { Int($0) } ?? 0
        return pages * Int(getpagesize())
    }

    private static func entries(of path: String) -> Int {
        guard let directory = opendir(path) else { return -1 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count - 2  // "." and ".."
    }

    /// Leaves the process room for `room` more descriptors. The closure that it returns undoes that.
    public static func limitDescriptors(room: Int) -> () -> Void {
        var before = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        // The limit is on the number of a descriptor, and the kernel takes the lowest free one: fill the gaps.
        var fillers: [Int32] = []
        let highest = (0..<Int32(before.rlim_cur)).last { fcntl($0, F_GETFD) != -1 } ?? 2
        while let next = Optional(dup(0)), next <= highest { fillers.append(next) }
        close(highest + 1)
        var lowered = before
        lowered.rlim_cur = rlim_t(Int(highest) + 1 + room)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lowered)
        return {
            fillers.forEach { close($0) }
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        }
    }

    /// Returns how often a thread of this process has given up its processor by itself. A sleeping thread that wakes adds one
    /// when it sleeps again. `tid` is as from gettid(2).
    public static func voluntarySwitches(ofThread tid: Int32) -> Int? {
        status("voluntary_ctxt_switches", ofThread: tid).flatMap { Int($0) }
    }

    /// Returns a line of a thread's status, proc_pid_status(5), without the line's name.
    public static func status(_ name: String, ofThread tid: Int32) -> String? {
        text(of: "/proc/self/task/\(tid)/status")?
            .split(separator: "\n")
            .first { $0.hasPrefix(name + ":") }
            .map { $0.dropFirst(name.count + 1).drop(while: \.isWhitespace) }
            .map(String.init)
    }

    /// Returns the text of a small file.
    public static func text(of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
