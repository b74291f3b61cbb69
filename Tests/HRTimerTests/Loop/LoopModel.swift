// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// A model of a loop's timers that follows only the rules of `NSTimer` and `CFRunLoop`: lists that are sorted and searched anew
/// for every question.
final class LoopModel {
    struct Timer {
        var deadline: Int64
        let interval: Int64
        let policy: MissedTickPolicy
        /// The order of arming; nil while the timer is not armed, as in its handler.
        var sequence: Int?
        var modes: Set<String> = []
        var isFiring = false
        var isMoved = false
        /// The last point of the grid that was called or counted as missed.
        var told: Int64 = 0
        /// The next deadline if the handler that is running returns before it.
        var following: Int64 = 0
        var wasAdded = false
        /// Whether the deadline had already passed when it was given.
        var wasPast = true
    }

    struct Call {
        let name: Int
        let deadline: Int64
        let now: Int64
        let missed: Int
    }

    private struct Run {
        let mode: String
        let limit: Int64
        /// The time and the last arming when the run's current pass began; nil before the first pass.
        var pass: (now: Int64, sequence: Int)?
    }

    var now: Int64 = 0
    var timers: [Int: Timer] = [:]
    private var commonModes: Set<String> = ["default"]
    private var sequences = 0
    private var runs: [Run] = []
    private(set) var calls = 0
    private(set) var nestedCalls = 0
    private(set) var starvedCalls = 0

    private func arm(_ name: Int) {
        guard let timer = timers[name], !timer.modes.isEmpty, !timer.isFiring else { return }
        sequences += 1
        timers[name]?.sequence = sequences
    }

    // Modes. Adding for .common adds to each common mode, now and later. Removing from .common removes from all of them.

    func add(_ name: Int, _ mode: String) {
        guard let timer = timers[name] else { return }
        timers[name]?.modes.formUnion(mode == "common" ? commonModes.union(["common"]) : [mode])
        guard timer.modes.isEmpty else { return }
        // A deadline that had passed when it was given counts as now. One that passes later stays where it is.
        if !timer.wasAdded, timer.wasPast { timers[name]!.deadline = max(timer.deadline, now) }
        if !timer.wasAdded { timers[name]!.told = timers[name]!.deadline - timer.interval }
        timers[name]!.wasAdded = true
        arm(name)
    }

    func remove(_ name: Int, _ mode: String) {
        guard let timer = timers[name], timer.modes.contains(mode) else { return }
        timers[name]!.modes.subtract(mode == "common" ? commonModes.union(["common"]) : [mode])
        if timers[name]!.modes.isEmpty { timers[name]!.sequence = nil }
    }

    func makeCommon(_ mode: String) {
        guard commonModes.insert(mode).inserted else { return }
        for name in timers.keys where timers[name]!.modes.contains("common") { timers[name]!.modes.insert(mode) }
    }

    func move(_ name: Int, to deadline: Int64) {
        guard let timer = timers[name] else { return }
        // Outside of a loop an instant stays as it is until the timer is added.
        timers[name]!.deadline = timer.modes.isEmpty ? deadline : max(deadline, now)
        timers[name]!.told = timers[name]!.deadline - timer.interval
        timers[name]!.isMoved = timer.isFiring
        if timer.modes.isEmpty { timers[name]!.wasAdded = false }
        timers[name]!.wasPast = deadline < now
        arm(name)
    }

    func invalidate(_ name: Int) {
        timers[name] = nil
    }

    // Runs.

    private func hasTimers(_ mode: String) -> Bool { timers.values.contains { $0.modes.contains(mode) } }

    /// Begins a run. Returns false if there is nothing to run.
    func begin(_ mode: String, limit: Int64) -> Bool {
        guard hasTimers(mode) else { return false }
        runs.append(Run(mode: mode, limit: limit))
        return true
    }

    /// Returns the next call of the innermost run, or nil when that run has ended.
    func next() -> Call? {
        while let run = runs.last {
            if let pass = run.pass, let (name, timer) = first(run.mode, pass) {
                if let call = fire(name, timer) { return call }
                continue
            }
            if run.pass != nil, run.limit <= now || !hasTimers(run.mode) { break }
            beginPass(run)
        }
        runs.removeLast()
        return nil
    }

    private func pending(_ mode: String) -> [Int: Timer] {
        timers.filter { $0.value.sequence != nil && $0.value.modes.contains(mode) }
    }

    /// Returns the first timer, by (deadline, sequence), that was due and armed when the pass began and is in the mode now.
    private func first(_ mode: String, _ pass: (now: Int64, sequence: Int)) -> (Int, Timer)? {
        pending(mode).filter { $0.value.deadline <= pass.now && $0.value.sequence! <= pass.sequence }
            .min { ($0.value.deadline, $0.value.sequence!) < ($1.value.deadline, $1.value.sequence!) }
            .map { ($0.key, $0.value) }
    }

    /// Sleeps until the first deadline of the mode, or until the run's limit, and begins a pass.
    private func beginPass(_ run: Run) {
        let wake = pending(run.mode).values.map(\.deadline).min() ?? .max
        now = max(now, min(wake, run.limit))
        runs[runs.count - 1].pass = (now, sequences)
    }

    private func fire(_ name: Int, _ timer: Timer) -> Call? {
        timers[name]!.sequence = nil
        var missed = 0
        timers[name]!.following = timer.deadline + timer.interval
        if timer.interval > 0 {
            let latest = timer.deadline + (now - timer.deadline) / timer.interval * timer.interval
            switch timer.policy {
            case .skip where latest > timer.deadline:
                timers[name]!.deadline = latest + timer.interval
                arm(name)
                return nil
            case .skip, .merge, .mergeToGrid:
                missed = Int((latest - timer.told) / timer.interval) - 1
                timers[name]!.told = latest
                timers[name]!.following = latest + timer.interval
            case .burst, .delay:
                break
            }
        }
        timers[name]!.isFiring = true
        timers[name]!.isMoved = false
        calls += 1
        if runs.count > 1 { nestedCalls += 1 }
        if now > timer.deadline, timer.modes.count < 3 { starvedCalls += 1 }
        return Call(name: name, deadline: timer.deadline, now: now, missed: missed)
    }

    /// Ends the timer's call. Must be called when the timer's handler is about to return.
    func end(_ name: Int) {
        guard let timer = timers[name] else { return }
        timers[name]!.isFiring = false
        guard timer.interval > 0 else { return invalidate(name) }
        if !timer.isMoved {
            switch timer.policy {
            case .mergeToGrid:
                let passed = (now - timer.deadline) / timer.interval
                timers[name]!.deadline += (passed + 1) * timer.interval
            case .merge, .skip, .burst:
                timers[name]!.deadline = timer.following
            case .delay:
                timers[name]!.deadline = now + timer.interval
            }
        }
        arm(name)
    }
}
