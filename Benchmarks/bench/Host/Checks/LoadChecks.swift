import Glibc

/// Checks of the machine's present load.
enum LoadChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        let cores = Double(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        return [average(files, cores: cores), running(files), pressure(files), realTimeTasks(files)]
    }

    static func average(_ files: SystemFiles, cores: Double) -> Finding {
        let text = files.read("/proc/loadavg")
        let minute = text.flatMap { $0.split(separator: " ").first.flatMap { Double($0) } }
        return Finding(
            "load.average",
            minute.map { "\($0.formatted(decimals: 2)) on \(Int(cores)) processors" },
            (minute ?? 0) > cores / 2 ? .warn : .ok,
            why: "An ordinary thread that wakes has to wait for its turn behind whatever runs.",
            fix: "end what else runs, or say --load cpu to measure under a load that is known"
        )
    }

    static func running(_ files: SystemFiles) -> Finding {
        let running = files.field("procs_running", of: "/proc/stat").flatMap { Int($0) }
        return Finding(
            "load.running",
            running.map { "\($0) threads want a processor" },
            (running ?? 1) > 2 ? .info : .ok,
            why: "Who competes at this moment, this program included."
        )
    }

    /// Checks the share of the last ten seconds in which some thread had to wait for a processor:
    /// Documentation/accounting/psi.rst.
    static func pressure(_ files: SystemFiles) -> Finding {
        let line = files.field("some", of: "/proc/pressure/cpu")
        let share = line.flatMap { $0.split(separator: " ").first }.flatMap { Double($0.dropFirst("avg10=".count)) }
        return Finding(
            "load.pressure",
            share.map { "threads waited for a processor in \($0.formatted(decimals: 1)) % of 10 s" } ?? "not told",
            (share ?? 0) > 5 ? .warn : share == nil ? .info : .ok,
            why: "Time in which a woken thread had no processor is lateness that no timer can avoid.",
            fix: "end what else runs; top shows it"
        )
    }

    /// Lists other real-time processes. Field 41 of /proc/PID/stat is the policy, proc_pid_stat(5); kernel threads have no
    /// memory of their own.
    static func realTimeTasks(_ files: SystemFiles) -> Finding {
        let names = files.list("/proc").filter { $0.allSatisfy(\.isNumber) }.compactMap { process -> String? in
            guard let text = files.read("/proc/\(process)/stat"), let end = text.lastIndex(of: ")") else { return nil }
            let fields = text[text.index(after: end)...].split(separator: " ")
            guard fields.count > 38, ["1", "2", "6"].contains(fields[38]), fields[20] != "0" else { return nil }
            return text.firstIndex(of: "(").map { String(text[text.index(after: $0)..<end]) }
        }
        return Finding(
            "load.real-time-tasks",
            names.isEmpty ? "none" : names.prefix(5).joined(separator: ", "),
            names.isEmpty ? .ok : .warn,
            why: "Other real-time processes run before every ordinary thread, also before its deadline.",
            fix: "end them, or keep them on another processor"
        )
    }
}
