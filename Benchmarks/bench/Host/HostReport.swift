// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Foundation

/// The facts without which a latency means nothing: the machine, its settings and its load.
struct HostReport: Sendable {
    /// By their names in JSON; null if they are not known.
    let facts: [(key: String, value: JSONValue)]
    /// Nil if the checks were not requested.
    var doctor: Doctor?

    /// Returns the report with the doctor's findings, which take half a second.
    static func examined() -> HostReport {
        let doctor = Doctor.examine()
        return HostReport(facts: now().facts + [("doctor_summary", .string(doctor.summary))], doctor: doctor)
    }

    /// The host's part of a result in JSON.
    var json: JSONValue {
        .members(facts.map { ($0.key, $0.value) }) + (doctor.map { ["doctor": $0.table().json] } ?? [:])
    }

    /// The host at the top of a text.
    func lines(_ paint: Paint) -> [String] {
        let known = facts.filter { $0.value != .null }.map { ($0.key, $0.value.plainText) }
        let shown = HostFacts(texts: Dictionary(uniqueKeysWithValues: known), findings: []).lines
        return [paint.bold("host")] + shown.map { "  \($0.title.padded(to: 16))\($0.text)" }
    }

    static func now() -> HostReport {
        let machine = Machine()
        let system = "/sys/devices/system/"
        let clockSource = machine.read(system + "clocksource/clocksource0/current_clocksource")
        let name = kernelName()
        return HostReport(facts: [
            ("kernel", .string("\(name.system) \(name.release) \(name.version)")),
            ("cpu", .string(machine.field("model name", of: "/proc/cpuinfo") ?? name.machine)),
            ("cores", .string(cores(machine))),
            ("virtualisation", .string(virtualisation(machine))),
            ("clocksource", JSONValue(clockSource)),
            ("clock_read_ns", JSONValue(readingCost_ns())),
            ("governor", JSONValue(machine.read(system + "cpu/cpu0/cpufreq/scaling_governor"))),
            ("timer_slack_ns", .integer(machine.slack_ns)),
            ("scheduling", .string(scheduling(machine))),
            ("load", JSONValue(machine.read("/proc/loadavg"))),
            ("swift", .string(swiftVersion)),
            ("build", .string(buildName)),
            ("commit", JSONValue(commit())),
        ])
    }

    /// Returns the commit of the checkout in which the bench is run, with a + if files differ from it; nil outside of a
    /// checkout.
    static func commit() -> String? {
        func git(_ arguments: String...) -> String? {
            let output = try? outputOfChild(["/usr/bin/env", "git"] + arguments, errors: .discarded)
            return output?.status == 0 ? output?.text.trimmingCharacters(in: .whitespacesAndNewlines) : nil
        }
        guard let hash = git("rev-parse", "--short=12", "HEAD") else { return nil }
        return hash + (git("status", "--porcelain", "--untracked-files=no")?.isEmpty == false ? "+" : "")
    }

    private static func kernelName() -> (system: String, release: String, version: String, machine: String) {
        var name = utsname()
        // It fails only without room for its answer.
        uname(&name)
        return (text(name.sysname), text(name.release), text(name.version), text(name.machine))
    }

    private static func cores(_ machine: Machine) -> String {
        let (online, allowed) = (machine.online, machine.allowed)
        return allowed == 0 || allowed == online ? "\(online)" : "\(online), \(allowed) of them allowed to this process"
    }

    private static func virtualisation(_ machine: Machine) -> String {
        let vendor = machine.read("/sys/class/dmi/id/sys_vendor").map { " (\($0))" } ?? ""
        return (machine.flags?.contains("hypervisor") == true ? "guest of a hypervisor" : "none seen") + vendor
    }

    private static func scheduling(_ machine: Machine) -> String {
        switch sched_getscheduler(0) {
        case SCHED_OTHER: "SCHED_OTHER, nice \(machine.nice)"
        case SCHED_FIFO: "SCHED_FIFO"
        case SCHED_RR: "SCHED_RR"
        case let policy: "policy \(policy)"
        }
    }

    static var swiftVersion: String {
        #if compiler(>=6.4)
        "6.4 or later"
        #elseif compiler(>=6.3)
        "6.3"
        #else
        "6.2"
        #endif
    }

    /// Returns the text of a field of utsname: bytes that end with a zero.
    private static func text<Bytes>(_ bytes: Bytes) -> String {
        // The bytes are read only inside the call, and only as many as the tuple has.
        withUnsafeBytes(of: bytes) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

/// "debug" or "release", depending on whether assertions are compiled in.
let buildName: String = {
    var isDebug = false
    assert(
        {
            isDebug = true
            return true
        }()
    )
    return isDebug ? "debug" : "release"
}()

/// Returns the cost of one time stamp: the median of several averages.
func readingCost_ns() -> Double {
    let readings = 1000
    let averages = (0..<15).map { _ in
        let start_ns = cbench_now_ns()
        for _ in 0..<readings { _ = cbench_now_ns() }
        return Double(cbench_now_ns() - start_ns) / Double(readings)
    }
    return averages.sorted()[7]
}

/// Returns the text of a file of /proc or /sys; nil if it cannot be read.
func readText(_ path: String) -> String? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    return String(decoding: data, as: UTF8.self)
}
