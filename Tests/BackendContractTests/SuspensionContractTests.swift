// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HRTimer

/// Processes that are really stopped or frozen. Each test has a process of its own.
@Suite(.serialized) struct SuspensionContractTests {
    /// Runs `script` in a shell, which stops this process for 300 ms at least, and checks the monitor's report.
    private static func expectStop(_ script: String) throws {
        let absences = Recorder<SuspensionMonitor.Absence>()
        let monitor = try SuspensionMonitor(threshold: .milliseconds(200)) { absences.append($0) }
        pause(.milliseconds(150))
        let before = MonotonicInstant.now
        #expect(Shell.run(script) == 0)
        let took = before.duration(to: .now)
        for _ in 0..<1000 where absences.all.allSatisfy({ $0.cause != .processStopped }) { pause(.milliseconds(10)) }
        monitor.shutdown()
        let stop = try #require(absences.all.first { $0.cause == .processStopped })
        #expect(stop.duration + stop.uncertainty >= .milliseconds(300))
        #expect(stop.duration < took + .milliseconds(200))
        #expect(stop.suspended == .zero)
    }

    @Test("A sample tells how long its thread has waited for a processor if the kernel counts that")
    func waited() {
        let isCounted = access("/proc/thread-self/schedstat", R_OK) == 0
        #expect((PresenceSample.now().waited_ns != nil) == isCounted)
    }

    @Test("A process that SIGSTOP stops for 300 ms learns of it after SIGCONT", .hangLimit)
    func stopped() async {
        await #expect(processExitsWith: .success) {
            try Self.expectStop("kill -STOP $PPID; sleep 0.3; kill -CONT $PPID")
        }
    }

    @Test(
        "A process whose cgroup is frozen for 300 ms learns of it when it thaws",
        .enabled(if: Self.cgroups != nil, "needs the right to make a cgroup"),
        .hangLimit
    )
    func frozen() async {
        await #expect(processExitsWith: .success) {
            let root = try #require(Self.cgroups)
            let home = try #require(Self.home(below: root))
            let group = "\(home)/hrtimer-test-\(getpid())"
            try Self.expectStop(
                """
                mkdir \(group) || exit 9
                echo $PPID >\(group)/cgroup.procs && echo 1 >\(group)/cgroup.freeze && sleep 0.3
                echo 0 >\(group)/cgroup.freeze
                echo $PPID >\(home)/cgroup.procs
                rmdir \(group)
                """
            )
        }
    }

    /// The place where version 2 of cgroups is mounted, if this process may make a cgroup below its own; otherwise nil.
    static let cgroups: String? = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].first { root in
        guard let home = home(below: root) else { return false }
        let probe = "\(home)/hrtimer-probe-\(getpid())"
        guard mkdir(probe, 0o755) == 0 else { return false }
        defer { rmdir(probe) }
        return access("\(probe)/cgroup.freeze", W_OK) == 0 && access("\(home)/cgroup.procs", W_OK) == 0
    }

    /// Returns the folder of this process's cgroup, from the line "0::/…" of /proc/self/cgroup.
    private static func home(below root: String) -> String? {
        guard let file = fopen("/proc/self/cgroup", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 4096)
        while fgets(&line, 4096, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("0::/") { return root + text.dropFirst(3).dropLast() }
        }
        return nil
    }

    #if compiler(>=6.3)  // earlier, exit tests capture nothing
    @Test(
        "After a stop of 300 ms each timer follows its missed-tick policy",
        .hangLimit,
        arguments: MissedTickPolicy.allCases
    )
    func policies(_ policy: MissedTickPolicy) async {
        await #expect(processExitsWith: .success) { [name = policy.name as String] in
            let policy = try #require(MissedTickPolicy.allCases.first { $0.name == name })
            let fires = Recorder<(late: Duration, missed: Int)>()
            let start = MonotonicInstant.now
            let timer = LoopTimer(timeInterval: .milliseconds(20), repeats: true, policy: policy) { timer in
                fires.append((timer.fireInstant.duration(to: .now), timer.missedTicks))
            }
            let loop = TimerLoop()
            loop.add(timer, forMode: .default)
            let shell = try #require(Shell("sleep 0.1; kill -STOP $PPID; sleep 0.3; kill -CONT $PPID"))
            let ends = Recorder<Int32>()
            let waiter = try startThread {
                ends.append(shell.wait())
                pause(.milliseconds(50))
                ends.append(0)
            }
            let limit = start.advanced(by: .seconds(30))
            while ends.count < 2, .now < limit { Self.run(loop, until: .now.advanced(by: .milliseconds(20))) }
            join(waiter)
            // Runs on to a punctual call, however long that takes on a busy machine: by then all late calls have been made.
            let before = fires.count
            while !fires.all.dropFirst(before).contains(where: { $0.late < .milliseconds(20) }), .now < limit {
                Self.run(loop, until: .now.advanced(by: .milliseconds(20)))
            }
            #expect(ends.all == [0, 0])
            let ticks = Int(start.duration(to: .now) / .milliseconds(20))
            let late = fires.all.filter { $0.late >= .milliseconds(20) }
            #expect(fires.all.allSatisfy { $0.late >= .zero })
            switch policy {
            case .merge, .mergeToGrid:
                #expect(late.contains { $0.missed >= 13 })
            case .burst:
                #expect(late.count >= 13)
                #expect(fires.count >= ticks - 15)
            case .skip:
                #expect(fires.all.contains { $0.missed >= 14 })
            case .delay:
                #expect(late.contains { $0.late >= .milliseconds(250) })
                #expect(fires.count <= ticks - 13)
            }
        }
    }
    #endif

    private static func run(_ loop: TimerLoop, until limit: MonotonicInstant) {
        loop.run(until: limit)
    }
}

extension MissedTickPolicy {
    fileprivate var name: String { "\(self)" }
}
