import CBench

/// Checks of how this program is built.
enum BuildChecks {
    static func findings() -> [Finding] {
        [
            configuration(buildName), sanitizer(cbench_sanitizer().map { String(cString: $0) }),
            libevent(String(cString: cbench_libevent_version()), cbench_libevent_method().map { String(cString: $0) }),
            overrides(),
        ]
    }

    static func configuration(_ name: String) -> Finding {
        Finding(
            "build.configuration",
            name,
            name == "release" ? .ok : .warn,
            why: "Unoptimized Swift costs microseconds in every handler, and not the same in all subjects.",
            fix: "swift run -c release bench"
        )
    }

    static func sanitizer(_ name: String?) -> Finding {
        Finding(
            "build.sanitizer",
            name.map { "\($0) sanitizer" } ?? "none",
            name == nil ? .ok : .bad,
            why: "A sanitizer makes the program several times slower, unevenly.",
            fix: "build without --sanitize"
        )
    }

    static func libevent(_ version: String, _ method: String?) -> Finding {
        Finding(
            "build.libevent",
            "\(version), waits by \(method ?? "nothing")",
            method == "epoll" ? .ok : .bad,
            why: "Another backend than epoll has coarser timeouts, and cannot watch a timerfd as exactly.",
            fix: "unset EVENT_NOEPOLL, or install a libevent with epoll"
        )
    }

    static func overrides() -> Finding {
        let set = ["EVENT_NOEPOLL", "EVENT_PRECISE_TIMER", "EVENT_EPOLL_USE_CHANGELIST", "EVENT_SHOW_METHOD"]
            .filter { environment($0) != nil }
        return Finding(
            "build.environment",
            set.isEmpty ? "no EVENT_ variables" : set.joined(separator: ", "),
            set.isEmpty ? .ok : .warn,
            why: "These variables change how libevent waits, of rivals and of ours alike.",
            fix: "unset \(set.joined(separator: " "))"
        )
    }
}
