// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

// One-line descriptions for debugging. They are for people: the words may change.

extension LoopTimer: CustomStringConvertible {
    /// Whether it is valid, its interval and tolerance, when it fires next, and in which modes.
    public var description: String {
        if isInForkedChild { return "LoopTimer(of a process that forked)" }
        let modes = modeNames
        return withState { state, time in
            guard state.handler != nil else { return "LoopTimer(invalid)" }
            let recurrence = state.schedule.recurrence
            var parts = [recurrence.repeats ? "every \(words(recurrence.interval.whole_ns))" : "once"]
            parts.append(state.isFiring ? "firing" : whenNext(state.shownDeadline_ns(time), time))
            if let clock = state.followed?.clock { parts.append("by \(clock)") }
            if state.tolerance_ns > 0 { parts.append("tolerance \(words(state.tolerance_ns))") }
            if let precision = state.precision { parts.append("\(precision)") }
            parts.append(modes.isEmpty ? "in no loop" : "in \(modes.joined(separator: ", "))")
            return "LoopTimer(\(parts.joined(separator: ", ")))"
        }
    }

    private var modeNames: [String] {
        withLink { link in
            guard let core = link.core, !core.isInForkedChild else { return [] }
            return core.state.withLock { loop in
                loop.core.isLive(link.token) ? loop.modes.names(of: loop.core.group(of: link.token)) : []
            }
        }
    }
}

extension TimerLoop: CustomStringConvertible {
    /// Whether it is the main loop, its mode, its timers and sources, when the next timer of any mode is due, its precision.
    public var description: String {
        let name = isMain ? "TimerLoop.main" : "TimerLoop"
        if core.isInForkedChild { return "\(name)(of a process that forked)" }
        let time = time
        return state.withLock { state in
            if state.isEnded { return "\(name)(ended)" }
            var parts = [
                state.run.map { "runs in \($0.mode)" } ?? (state.hostIndex == nil ? "does not run" : "hosted")
            ]
            if state.core.isParked { parts.append("waits") }
            if state.isKeptAlive { parts.append("kept alive") }
            let count = state.core.count
            parts.append(counted(count, "timer"))
            var earliest_ns = Int64.max
            state.core.forEachTimer { _, target in
                earliest_ns = min(earliest_ns, TimerLoop.shownDeadline_ns(target, time))
            }
            if count > 0 { parts.append(whenNext(earliest_ns, time)) }
            let sources = state.descriptors.sources.entries.count
            if sources > 0 { parts.append(counted(sources, "source")) }
            parts.append("\(state.core.precision)")
            return "\(name)(\(parts.joined(separator: ", ")))"
        }
    }
}

extension LoopSource: CustomStringConvertible {
    /// Its descriptor, what it waits for, and whether it is valid.
    public var description: String {
        let names = [(Events.readable, "readable"), (.writable, "writable")].filter { events.contains($0.0) }.map {
            $0.1
        }
        let state = isValid ? "\(names.joined(separator: ", ")), \(triggering)-triggered" : "invalid"
        return "LoopSource(descriptor \(descriptor), \(state))"
    }
}

extension LoopTrigger: CustomStringConvertible {
    /// Its order, and whether it is valid and signalled.
    public var description: String {
        let state = isValid ? (isSignalled ? "signalled" : "not signalled") : "invalid"
        return "LoopTrigger(order \(order), \(state))"
    }
}

extension TimerSource: CustomStringConvertible {
    /// Whether it was cancelled, when it fires next, and its `data`.
    public var description: String {
        if isCancelled { return "TimerSource(cancelled)" }
        let next = nextDeadline.map { whenNext($0.nanoseconds, core.core.time) } ?? "waits for no deadline"
        return "TimerSource(\(next), data \(data))"
    }
}

extension DisplayLink: CustomStringConvertible {
    /// Whether it is valid, paused, and in a loop, its requested rate, and where its refreshes come from.
    public var description: String {
        guard isValid else { return "DisplayLink(invalid)" }
        let requested = preferredFramesPerSecond
        let rate = requested > 0 ? "\(requested) frames a second requested" : "every refresh"
        let state = isPaused ? "paused" : isInLoop ? "calls" : "in no loop"
        return "DisplayLink(\(state), \(rate), refresh of \(duration.inWords))"
    }
}

private func words(_ length_ns: Int64) -> String {
    Duration.nanoseconds(length_ns.magnitude > Int64.max.magnitude ? .max : Int64(length_ns.magnitude)).inWords
}

private func whenNext(_ deadline_ns: Int64, _ time: TimeBase) -> String {
    if deadline_ns == .max { return "never due" }
    let rest_ns = deadline_ns.subtractingSaturating(time.now_ns)
    return rest_ns > 0 ? "due in \(words(rest_ns))" : "due since \(words(rest_ns))"
}
#endif
