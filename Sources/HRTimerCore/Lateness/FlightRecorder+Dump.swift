// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc

// The Trace Event Format: "Trace Event Format", Google 2016, as chrome://tracing and Perfetto read it.
extension FlightRecorder {
    /// Writes what was recorded to a JSON file in the Trace Event Format, in place of what was there.
    ///
    /// Threads may go on recording.
    ///
    /// Parks, spins and calls are slices of their threads; deadlines and armings are instants. Deliveries, and late fires from
    /// their deadline to their call, are slices of tracks of their own. A late fire has its causes, in microseconds, among its
    /// arguments. Throws the errors of open(2), write(2) and rename(2), and then leaves no file behind.
    public func dump(to path: String) throws(TimerError) {
        // Written beside the file and then renamed, so that nobody reads half a file.
        let partial = path + ".part\(hrt_thread_id())"
        let file = unsafe open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        if file < 0 { throw TimerError(operation: "create \(partial)", errorNumber: errno) }
        var text = json()
        let error = text.withUTF8 { bytes -> Int32 in
            var written = 0
            while written < bytes.count {
                let count = unsafe write(file, bytes.baseAddress! + written, bytes.count - written)
                if count < 0, errno != EINTR { return errno }
                written += max(0, count)
            }
            return 0
        }
        close(file)
        if error == 0, unsafe rename(partial, path) == 0 { return }
        let failure =
            error != 0
            ? TimerError(operation: "write \(partial)", errorNumber: error)
            : TimerError(operation: "rename \(partial)", errorNumber: errno)
        unsafe unlink(partial)
        throw failure
    }

    /// Returns the text that `dump(to:)` writes.
    public func json() -> String {
        let records = records
        let process = getpid()
        var events = [TraceEvent.processName(process)]
        for thread in Set(records.map(\.thread)).sorted() { events.append(.threadName(process, thread)) }
        var late: [LateKey: [(LatenessCause, Int64)]] = [:]
        var lateOnes: [LateKey] = []
        for (number, record) in records.enumerated() {
            if record.kind >= Kind.late {
                let key = LateKey(record)
                if late[key] == nil { lateOnes.append(key) }
                let index = Int(record.kind - Kind.late)
                guard index < LatenessCause.allCases.count else { continue }
                late[key, default: []].append((LatenessCause.allCases[index], record.value))
            } else if let kind = Kind(rawValue: record.kind) {
                events += TraceEvent.events(of: record, kind, process, number)
            }
        }
        for (number, key) in lateOnes.enumerated() {
            events += TraceEvent.late(key, late[key] ?? [], process, records.count + number)
        }
        return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n\(events.map(\.json).joined(separator: ",\n"))\n]}\n"
    }
}

/// What the events of one late fire have in common.
struct LateKey: Hashable {
    let deadline_ns: Int64
    let called_ns: Int64
    let thread: UInt32
    let slot: UInt32

    init(_ record: hrt_record) {
        (deadline_ns, called_ns, thread, slot) = (record.begin_ns, record.end_ns, record.thread, record.slot)
    }
}

/// One event of the file.
struct TraceEvent {
    var phase: String
    var name: String
    var process: pid_t
    var thread: UInt32
    var at_ns: Int64 = 0
    var fields: [(String, String)] = []
    var arguments: [(String, String)] = []

    var json: String {
        var all = [
            ("name", quoted(name)), ("ph", quoted(phase)), ("ts", microseconds(at_ns)), ("pid", "\(process)"),
            ("tid", "\(thread)"),
        ]
        all += fields
        if !arguments.isEmpty { all.append(("args", object(arguments))) }
        return object(all)
    }

    static func processName(_ process: pid_t) -> TraceEvent {
        var event = TraceEvent(phase: "M", name: "process_name", process: process, thread: 0)
        event.arguments = [("name", quoted(name(ofFile: "/proc/self/comm") ?? "\(process)"))]
        return event
    }

    static func threadName(_ process: pid_t, _ thread: UInt32) -> TraceEvent {
        var event = TraceEvent(phase: "M", name: "thread_name", process: process, thread: thread)
        event.arguments = [("name", quoted(name(ofFile: "/proc/self/task/\(thread)/comm") ?? "thread \(thread)"))]
        return event
    }

    static func events(of record: hrt_record, _ kind: FlightRecorder.Kind, _ process: pid_t, _ number: Int)
        -> [TraceEvent]
    {
        let timer = ("timer", "\(record.slot)")
        switch kind {
        case .arm:
            return [instant("arm", record, process, record.begin_ns, [timer])]
        case .park:
            var park = slice("park", record, process)
            if record.value < .max {
                park.arguments = [("late_us", microseconds(max(0, record.end_ns - record.value)))]
            }
            return [park]
        case .spin: return [slice("spin", record, process)]
        case .call:
            var call = slice("call", record, process)
            call.arguments = [timer, ("late_us", microseconds(record.begin_ns.subtractingSaturating(record.value)))]
            return [instant("deadline", record, process, record.value, [timer]), call]
        case .delivery:
            return track("delivery", record.begin_ns, record.end_ns, process, record.thread, number, [timer])
        }
    }

    static func late(_ key: LateKey, _ parts: [(LatenessCause, Int64)], _ process: pid_t, _ number: Int) -> [TraceEvent]
    {
        let arguments =
            [("timer", "\(key.slot)"), ("late_us", microseconds(key.called_ns.subtractingSaturating(key.deadline_ns)))]
            + parts.sorted { $0.1 > $1.1 }.map { ($0.0.rawValue + "_us", microseconds($0.1)) }
        let main = parts.max { $0.1 < $1.1 }?.0 ?? .unexplained
        return track("late: \(main.rawValue)", key.deadline_ns, key.called_ns, process, key.thread, number, arguments)
    }

    private static func slice(_ name: String, _ record: hrt_record, _ process: pid_t) -> TraceEvent {
        var event = TraceEvent(phase: "X", name: name, process: process, thread: record.thread, at_ns: record.begin_ns)
        event.fields = [("dur", microseconds(max(0, record.end_ns.subtractingSaturating(record.begin_ns))))]
        return event
    }

    private static func instant(
        _ name: String,
        _ record: hrt_record,
        _ process: pid_t,
        _ at_ns: Int64,
        _ arguments: [(String, String)]
    ) -> TraceEvent {
        var event = TraceEvent(phase: "i", name: name, process: process, thread: record.thread, at_ns: at_ns)
        event.fields = [("s", quoted("t"))]
        event.arguments = arguments
        return event
    }

    /// Returns a span on a track of its own, since such spans overlap the slices of their thread.
    private static func track(
        _ name: String,
        _ begin_ns: Int64,
        _ end_ns: Int64,
        _ process: pid_t,
        _ thread: UInt32,
        _ number: Int,
        _ arguments: [(String, String)]
    ) -> [TraceEvent] {
        var begin = TraceEvent(phase: "b", name: name, process: process, thread: thread, at_ns: begin_ns)
        begin.fields = [("cat", quoted(name)), ("id", quoted("\(number)"))]
        var end = begin
        (end.phase, end.at_ns) = ("e", max(begin_ns, end_ns))
        begin.arguments = arguments
        return [begin, end]
    }

    private static func name(ofFile path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        // Safe: only the bytes that were read are looked at.
        return unsafe withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { bytes in
            let count = unsafe read(file, bytes.baseAddress, bytes.count)
            guard count > 0 else { return nil }
            return unsafe String(decoding: bytes[..<(count - 1)], as: UTF8.self)
        }
    }
}

/// Returns microseconds with three digits after the point, the nanoseconds.
private func microseconds(_ ns: Int64) -> String {
    let (whole, rest) = (ns.magnitude / 1000, ns.magnitude % 1000)
    let digits = String(rest)
    return "\(ns < 0 ? "-" : "")\(whole).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
}

private func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": quoted += "\\\""
        case "\\": quoted += "\\\\"
        case _ where scalar.value < 0x20: quoted += " "
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "\""
}

private func object(_ fields: [(String, String)]) -> String {
    "{" + fields.map { "\(quoted($0.0)):\($0.1)" }.joined(separator: ",") + "}"
}
#endif
