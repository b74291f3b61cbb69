// SPDX-License-Identifier: Apache-2.0
// PlatformProgram WHAT: the library in restricted environments. PlatformTests runs it. Writes one line.
import CHRTimer
import CTestSupport
import Glibc
import HRTimer
import Synchronization

/// Counts all calls, and the early ones.
final class Tally: Sendable {
    private let calls = Atomic(0)
    private let early = Atomic(0)

    func note(_ deadline: MonotonicInstant) {
        if deadline > .now { early.add(1, ordering: .relaxed) }
        calls.add(1, ordering: .relaxed)
    }

    var count: Int { calls.load(ordering: .relaxed) }
    var earlyCount: Int { early.load(ordering: .relaxed) }
}

/// Every face of the library, each with a tally. Keeps their objects alive.
struct Faces {
    let tallies: [(name: String, tally: Tally)]
    let engines: [TimerEngine]
    let source: TimerSource
    let thread: LoopThread
    let timer: LoopTimer
    let ends: [Int32]

    init() throws {
        var tallies: [(String, Tally)] = []
        func tally(_ name: String) -> Tally {
            let tally = Tally()
            tallies.append((name, tally))
            return tally
        }
        var engines: [TimerEngine] = []
        for precision in TimerPrecision.allCases {
            let tally = tally("\(precision)")
            let engine = try TimerEngine(precision: precision)
            engine.schedule(after: .milliseconds(1), every: .milliseconds(1)) { tally.note($0.deadline) }
            engines.append(engine)
        }
        self.engines = engines
        source = TimerSource(engine: engines[0])
        let sourceTally = tally("source")
        let sourceStart = MonotonicInstant.now
        source.setEventHandler { sourceTally.note(sourceStart) }
        source.schedule(deadline: sourceStart.advanced(by: .milliseconds(1)), repeating: .milliseconds(1))
        source.activate()
        thread = try TimerLoop.thread(name: "platform")
        let timerTally = tally("loop timer")
        timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timerTally.note($0.fireInstant) }
        thread.loop.add(timer, forMode: .default)
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        self.ends = ends
        let watched = tally("loop source")
        let output = ends[1]
        let input = try LoopSource(descriptor: ends[0]) { source, _ in
            var byte: UInt8 = 0
            _ = read(source.descriptor, &byte, 1)
            watched.note(.distantPast)
            _ = write(output, "x", 1)
        }
        try thread.loop.add(input, forMode: .default)
        _ = write(output, "x", 1)
        self.tallies = tallies
    }

    /// Waits until each face has called that many times more. Returns what went wrong, or nil.
    func wait(for count: Int) -> String? {
        let goals = tallies.map { $0.tally.count + count }
        let start = MonotonicInstant.now
        while zip(tallies, goals).contains(where: { $0.tally.count < $1 }) {
            if start.duration(to: .now) > .seconds(60) {
                return "too few: \(tallies.map { "\($0.name) \($0.tally.count)" })"
            }
            thread.loop.perform {}
            usleep(1000)
        }
        let early = tallies.filter { $0.tally.earlyCount > 0 }
        return early.isEmpty ? nil : "early: \(early.map(\.name))"
    }
}

func refused(_ status: Int32) {
    if status == 0 { return }
    print("no filter: \(status)")
    exit(77)
}

// Without /proc Swift finds no command-line arguments.
switch CommandLine.arguments.dropFirst().first ?? "all" {
case "all":
    let faces = try Faces()
    print(faces.wait(for: 20) ?? "all fire")
case "docker":
    refused(ctest_refuse_as_docker())
    let faces = try Faces()
    print(faces.wait(for: 20) ?? "all fire")
case "lacking-after-start":
    let faces = try Faces()
    let before = faces.wait(for: 5)
    refused(ctest_lack_calls())
    let more = try Faces()
    print(before ?? faces.wait(for: 20) ?? more.wait(for: 20) ?? "all fire")
case "real-time":
    var configuration = TimerEngine.Configuration(name: "asking")
    configuration.realTime.schedulingClass = .fifo(priority: 30)
    let engine = try TimerEngine(configuration)
    let policy = Atomic<Int32>(-1)
    let priority = Atomic<Int32>(-1)
    engine.schedule(after: .milliseconds(1)) { _ in
        var parameters = sched_param()
        sched_getparam(0, &parameters)
        priority.store(parameters.sched_priority, ordering: .relaxed)
        policy.store(sched_getscheduler(0) & ~0x4000_0000, ordering: .relaxed)
    }
    while policy.load(ordering: .relaxed) < 0 { usleep(1000) }
    let result = engine.settingResults.first { $0.setting == .schedulingClass }!
    print("\(result); class \(policy.load(ordering: .relaxed)) at \(priority.load(ordering: .relaxed))")
case "alarm":
    var configuration = TimerEngine.Configuration(name: "alarms")
    configuration.realTime.wakesSystem = true
    let engine = try BootTimeTimerEngine(configuration)
    let calls = Atomic(0)
    let early = Atomic(0)
    engine.schedule(at: .now.advanced(by: .milliseconds(2)), every: .milliseconds(2)) { fire in
        if fire.deadline > BootTimeInstant.now { early.add(1, ordering: .relaxed) }
        calls.add(1, ordering: .relaxed)
    }
    while calls.load(ordering: .relaxed) < 10 { usleep(1000) }
    if CommandLine.arguments.contains("give-up") {
        // The right is gone: the timers go on without it.
        guard setuid(65534) == 0 else { exit(77) }
        let before = calls.load(ordering: .relaxed)
        while calls.load(ordering: .relaxed) < before + 10 { usleep(1000) }
    }
    print("\(engine.settingResults.first { $0.setting == .wakesSystem }!); early \(early.load(ordering: .relaxed))")
default:
    print("all, docker, lacking-after-start, real-time or alarm?")
    exit(2)
}
fflush(nil)
_exit(0)
