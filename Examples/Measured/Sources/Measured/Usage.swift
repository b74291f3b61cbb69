// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The resources that a process has used.
public struct Usage: Sendable {
    /// Processor time, including the kernel's.
    public var cpu_ns: Int64
    /// Voluntary context switches: those that the process made by waiting.
    public var contextSwitches: Int

    /// Returns the usage of this process, or of its children that have ended.
    public static func now(ofChildren: Bool = false) -> Usage {
        var usage = rusage()
        getrusage(__rusage_who_t(ofChildren ? RUSAGE_CHILDREN.rawValue : RUSAGE_SELF.rawValue), &usage)
        let cpu_us =
            (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000 + usage.ru_utime.tv_usec
            + usage.ru_stime.tv_usec
        return Usage(cpu_ns: Int64(cpu_us) * 1000, contextSwitches: usage.ru_nvcsw)
    }

    /// Returns the usage between two readings.
    public static func - (left: Usage, right: Usage) -> Usage {
        Usage(cpu_ns: left.cpu_ns - right.cpu_ns, contextSwitches: left.contextSwitches - right.contextSwitches)
    }

    /// The resident memory of this process; nil if there is no /proc.
    public static var resident_KiB: Int? { line("VmRSS:") }
    /// The number of threads of this process; nil if there is no /proc.
    public static var threads: Int? { line("Threads:") }

    private static func line(_ name: String) -> Int? {
        guard let file = fopen("/proc/self/status", "r") else { return nil }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        while fgets(&buffer, 256, file) != nil {
            let text = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if text.hasPrefix(name) { return Int(text.split { !"0123456789".contains($0) }.first ?? "") }
        }
        return nil
    }
}

/// The reading of `CLOCK_MONOTONIC`.
public var monotonic_ns: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Returns the value that follows an option on the command line; nil without the option.
public func option(_ name: String) -> String? {
    guard let index = CommandLine.arguments.firstIndex(of: "--" + name), index + 1 < CommandLine.arguments.count else {
        return nil
    }
    return CommandLine.arguments[index + 1]
}

/// Returns the number that follows an option on the command line; `standard` without the option.
public func number(_ name: String, _ standard: Double) -> Double {
    guard let text = option(name) else { return standard }
    guard let value = Double(text) else { fatalError("--\(name) takes a number, and not \(text)") }
    return value
}
