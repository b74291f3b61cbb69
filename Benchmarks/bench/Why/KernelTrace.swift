import CHRTimer
import Foundation
import HRTimerCore

/// Names what ran on the processor of a late thread, from the kernel's trace events: an interrupt, softirq or thread, like
/// `rtla timerlat`. Needs root and tracefs (ftrace.rst in the kernel's Documentation/trace); otherwise it says what it
/// lacks.
final class KernelTrace: Sendable {
    /// The time from a deadline to the fire of that thread.
    struct Window: Sendable {
        let begin_ns: Int64
        let end_ns: Int64
        let thread: Int32
    }

    /// The reason why nothing can be named; nil if something can.
    let lacks: String?
    private let instance: String?

    private static let roots = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
    private static let events = [
        "irq/irq_handler_entry", "irq/irq_handler_exit", "irq/softirq_entry", "irq/softirq_exit", "sched/sched_switch",
        "irq_vectors/local_timer_entry", "irq_vectors/local_timer_exit",
    ]

    init() {
        guard geteuid() == 0 else {
            (lacks, instance) = ("that takes root, for tracefs", nil)
            return
        }
        guard let root = Self.roots.first(where: { access($0 + "/instances", W_OK) == 0 }) else {
            (lacks, instance) = ("no tracefs is mounted (mount -t tracefs nodev /sys/kernel/tracing)", nil)
            return
        }
        let made = "\(root)/instances/hrtimer-bench-\(getpid())"
        guard mkdir(made, 0o700) == 0 else {
            (lacks, instance) = ("\(made) cannot be made: \(String(cString: strerror(errno)))", nil)
            return
        }
        let isOn = Self.write("mono", "\(made)/trace_clock") && Self.write("8192", "\(made)/buffer_size_kb")
        let enabled = Self.events.filter { Self.write("1", "\(made)/events/\($0)/enable") }
        _ = Self.write("0", "\(made)/tracing_on")
        instance = made
        lacks =
            isOn && enabled.contains("sched/sched_switch")
            ? nil : "this kernel's tracefs has no sched_switch or mono clock"
    }

    deinit { if let instance { rmdir(instance) } }

    private static func write(_ text: String, _ path: String) -> Bool {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return text.utf8.withContiguousStorageIfAvailable { Glibc.write(file, $0.baseAddress, $0.count) }
            == text.utf8.count
    }

    func begin() {
        guard let instance, lacks == nil else { return }
        _ = Self.write("0", "\(instance)/trace")
        _ = Self.write("1", "\(instance)/tracing_on")
    }

    /// Returns, for each name, in how many of the windows it occupied the processor longest.
    func end(_ windows: [Window]) -> [String: Int] {
        guard let instance, lacks == nil else { return [:] }
        _ = Self.write("0", "\(instance)/tracing_on")
        // Read to its end, because tracefs reports its size as 0.
        guard let file = FileHandle(forReadingAtPath: "\(instance)/trace"), let data = try? file.readToEnd() else {
            return [:]
        }
        try? file.close()
        return TraceReading(String(decoding: data, as: UTF8.self)).culprits(windows)
    }
}

/// The lines of a tracefs `trace` file, as spans in which something occupied a processor.
struct TraceReading {
    struct Span {
        let name: String
        let cpu: Int
        let begin_ns: Int64
        let end_ns: Int64
    }

    private(set) var spans: [Span] = []
    /// When a thread was switched to on a processor: the processor on which it was woken.
    private var arrivals: [(thread: Int32, cpu: Int, at_ns: Int64)] = []

    /// Parses lines such as `  name-PID  [003] d..2.  1234.567890: event: details`.
    init(_ text: String) {
        var open: [String: (name: String, at_ns: Int64)] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let event = Event(line) else { continue }
            let pairs = ["irq_handler": "interrupt", "softirq": "softirq", "local_timer": "timer interrupt"]
            if event.name == "sched_switch" {
                let key = "\(event.cpu) thread"
                if let before = open[key] {
                    spans.append(Span(name: before.name, cpu: event.cpu, begin_ns: before.at_ns, end_ns: event.at_ns))
                }
                open[key] = nil
                let (next, thread) = (event.field("next_comm") ?? "?", Int32(event.field("next_pid") ?? "") ?? 0)
                arrivals.append((thread, event.cpu, event.at_ns))
                if thread != 0 { open[key] = ("thread \(next)", event.at_ns) }
            } else if let pair = pairs.first(where: { event.name.hasPrefix($0.key + "_") }) {
                let key = "\(event.cpu) \(pair.key)"
                if event.name.hasSuffix("_entry") {
                    let which = (event.field("name") ?? event.bracketed).map { " " + $0 } ?? ""
                    open[key] = (pair.value + which, event.at_ns)
                } else if let before = open.removeValue(forKey: key) {
                    spans.append(Span(name: before.name, cpu: event.cpu, begin_ns: before.at_ns, end_ns: event.at_ns))
                }
            }
        }
    }

    /// Returns, for each name, in how many windows it occupied the processor longest; the late thread itself does not
    /// count.
    func culprits(_ windows: [KernelTrace.Window]) -> [String: Int] {
        var counts: [String: Int] = [:]
        for window in windows {
            // The processor on which the thread ran at the end.
            let arrival = arrivals.last { $0.thread == window.thread && $0.at_ns <= window.end_ns + 1000 }
            guard let arrival, arrival.at_ns >= window.begin_ns else { continue }
            var times: [String: Int64] = [:]
            for span in spans
            where span.cpu == arrival.cpu && span.end_ns > window.begin_ns && span.begin_ns < arrival.at_ns {
                times[span.name, default: 0] += min(span.end_ns, arrival.at_ns) - max(span.begin_ns, window.begin_ns)
            }
            if let longest = times.max(by: { $0.value < $1.value }) { counts[longest.key, default: 0] += 1 }
        }
        return counts
    }

    private struct Event {
        let cpu: Int
        let at_ns: Int64
        let name: Substring
        let details: Substring

        init?(_ line: Substring) {
            guard let open = line.firstIndex(of: "["), let close = line[open...].firstIndex(of: "]"),
                let cpu = Int(line[line.index(after: open)..<close])
            else { return nil }
            let rest = line[line.index(after: close)...].split(
                separator: " ",
                maxSplits: 2,
                omittingEmptySubsequences: true
            )
            guard rest.count == 3, rest[1].hasSuffix(":"), let at_ns = Self.nanoseconds(rest[1].dropLast()),
                let colon = rest[2].firstIndex(of: ":")
            else { return nil }
            self.cpu = cpu
            self.at_ns = at_ns
            name = rest[2][..<colon].drop { $0 == " " }
            details = rest[2][rest[2].index(after: colon)...]
        }

        private static func nanoseconds(_ text: Substring) -> Int64? {
            let parts = text.split(separator: ".")
            guard parts.count == 2, let seconds = Int64(parts[0]), let fraction = Int64(parts[1]) else { return nil }
            return seconds * 1_000_000_000 + fraction * (parts[1].count == 9 ? 1 : 1000)
        }

        func field(_ name: String) -> String? {
            guard let found = details.range(of: name + "=") else { return nil }
            return String(details[found.upperBound...].prefix { $0 != " " && $0 != "\n" })
        }

        /// The action in brackets, as in `vec=3 [action=NET_RX]`.
        var bracketed: String? { field("action").map { $0.replacingOccurrences(of: "]", with: "") } }
    }
}
