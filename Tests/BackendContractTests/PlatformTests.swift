// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import TestTraits
import Testing

/// Restricted environments, each with a process of its own: all faces fire there, never early, and nothing ends the process.
/// The tests run as root, as containers and CI do. PLATFORMS.md has the table.
@Suite(.serialized, .enabled(if: geteuid() == 0, "makes namespaces and filters")) struct PlatformTests {
    private static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("PlatformProgram").path
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Runs a shell script, in which $PROGRAM is the program. Returns the last line that the script writes.
    fileprivate func run(_ script: String) throws -> String {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", script]
        // A directory that every user can read.
        shell.currentDirectoryURL = URL(fileURLWithPath: "/")
        var environment = ProcessInfo.processInfo.environment
        environment["PROGRAM"] = Self.program
        environment["WITH"] = Self.root + "/Tests/RealtimeKit/with"
        shell.environment = environment
        let output = Pipe()
        shell.standardOutput = output
        try shell.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        shell.waitUntilExit()
        return text.split(separator: "\n").last.map(String.init) ?? "nothing, status \(shell.terminationStatus)"
    }

    @Test("Under what Docker's usual profile refuses everything fires", .hangLimit)
    func docker() throws { #expect(try run("exec $PROGRAM docker") == "all fire") }

    @Test(
        "Calls that a kernel turns out to lack after the start (ENOSYS, as on gVisor) are done without",
        .hangLimit
    )
    func lacking() throws { #expect(try run("exec $PROGRAM lacking-after-start") == "all fire") }

    @Test(
        "With a read-only /proc everything fires",
        .enabled(if: canMount, "needs mount(8) and the right to use it: apt-get install mount"),
        .hangLimit
    )
    func readOnlyProc() throws {
        let script =
            "unshare -m sh -c 'mount --bind /proc /proc && mount -o remount,bind,ro /proc && exec $PROGRAM all'"
        #expect(try run(script) == "all fire")
    }

    @Test(
        "Without /proc everything fires",
        .enabled(if: canMount, "needs mount(8) and the right to use it: apt-get install mount"),
        .hangLimit
    )
    func noProc() throws {
        #expect(try run("unshare -m sh -c 'mount -t tmpfs none /proc && exec $PROGRAM all'") == "all fire")
    }

    @Test("As uid 65534, without rights, everything fires", .hangLimit)
    func nobody() throws {
        #expect(try run("exec setpriv --reuid 65534 --regid 65534 --clear-groups $PROGRAM all") == "all fire")
    }

    @Test(
        "In a cgroup with a tenth of a processor everything fires, late and never early",
        .enabled(if: Self.cgroup != nil, "needs the right to make a cgroup"),
        .hangLimit
    )
    func tenthOfAProcessor() throws {
        let group = try #require(Self.cgroup) + "/hrtimer-platform-\(getpid())"
        let limit =
            Self.cgroup!.hasSuffix("/cpu")
            ? "echo 100000 >\(group)/cpu.cfs_period_us; echo 10000 >\(group)/cpu.cfs_quota_us"
            : "echo '10000 100000' >\(group)/cpu.max"
        let script = """
            mkdir \(group) && \(limit) || exit 9
            sh -c 'echo $$ >\(group)/cgroup.procs && exec $PROGRAM all'
            rmdir \(group)
            """
        #expect(try run(script) == "all fire")
    }

    /// The directory in which groups with a limit of processor time can be made; nil if there is none.
    static let cgroup: String? = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].first { root in
        let probe = "\(root)/hrtimer-probe-\(getpid())"
        guard mkdir(probe, 0o755) == 0 else { return false }
        defer { rmdir(probe) }
        return access("\(probe)/cpu.cfs_quota_us", W_OK) == 0 || access("\(probe)/cpu.max", W_OK) == 0
    }

    @Test("In a time namespace whose clocks are days ahead everything fires", .hangLimit)
    func timeNamespace() throws {
        #expect(try run("exec unshare --time --boottime 1000000 --monotonic 500000 --fork $PROGRAM all") == "all fire")
    }

    @Test(
        "RealtimeKit grants a real-time class that the kernel refuses, at its highest priority",
        .enabled(if: missingForRealtimeKit == "nothing", "there is no \(missingForRealtimeKit)"),
        .hangLimit
    )
    func realtimeKit() throws {
        let said = try run("$WITH $PROGRAM real-time")
        // Class 2 is SCHED_RR: the daemon's own choice.
        #expect(said == "schedulingClass: granted by RealtimeKit, at priority 20; class 2 at 20")
    }

    @Test(
        "On a bus without RealtimeKit, and without a bus, the class is refused with EPERM, and who was asked is told",
        .enabled(if: hasLibrary("libdbus-1.so.3"), "libdbus is not installed: apt-get install libdbus-1-3")
    )
    func noRealtimeKit() throws {
        let script = """
            export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere
            exec setpriv --reuid 65534 --regid 65534 --clear-groups $PROGRAM real-time
            """
        let said = try run(script)
        #expect(said.hasPrefix("schedulingClass: refused, "))
        #expect(said.contains("RealtimeKit: ") && said.contains("the portal: "))
        #expect(said.contains("Operation not permitted") && said.hasSuffix("class 0 at 0"))
    }

    @Test(
        "Where libdbus is not installed, a class that the kernel refuses is refused with EPERM, and the reason names libdbus",
        .enabled(if: !hasLibrary("libdbus-1.so.3"))
    )
    func noDBus() throws {
        let said = try run("exec setpriv --reuid 65534 --regid 65534 --clear-groups $PROGRAM real-time")
        #expect(said.hasPrefix("schedulingClass: refused, "))
        #expect(said.contains("there is no libdbus") && said.hasSuffix("class 0 at 0"))
    }

    @Test("An alarm wakes the system where the process may, and a refused one is told and fires in boot time")
    func alarms() throws {
        #expect(try run("exec $PROGRAM alarm") == "wakesSystem: granted; early 0")
        let refused = try run("exec setpriv --reuid 65534 --regid 65534 --clear-groups $PROGRAM alarm")
        #expect(refused.hasPrefix("wakesSystem: refused, ") && refused.hasSuffix("Operation not permitted; early 0"))
    }

    @Test("A process that gives up the right to wake the system goes on firing in boot time")
    func alarmsGivenUp() throws { #expect(try run("exec $PROGRAM alarm give-up") == "wakesSystem: granted; early 0") }
}

/// Whether a process may mount something where only it sees that.
private let canMount: Bool =
    (try? PlatformTests().run("unshare -m mount -t tmpfs none /proc && echo yes")) == "yes"

/// What Tests/RealtimeKit/with says is missing for a bus with RealtimeKit.
private let missingForRealtimeKit: String = (try? PlatformTests().run("exec $WITH --missing")) ?? "shell"
