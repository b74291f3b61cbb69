// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import Synchronization
import TestSupport

/// An Xvfb that one test owns, on a display that was free. The server ends with this object.
final class XServer: Sendable {
    let display: String
    let pid: pid_t
    private let hasEnded = Atomic(false)

    /// Whether Xvfb is installed: `apt-get install xvfb`.
    static let isInstalled = Shell.run("command -v Xvfb >/dev/null") == 0

    /// Returns a display that no other server takes once its own has ended: servers that choose for themselves take the lowest
    /// free number. `number` tells the servers of a test run apart.
    static func keptDisplay(_ number: Int) -> String { ":\(10_000 + Int(getpid()) % 200 * 200 + number)" }

    struct DidNotStart: Error {}

    /// Starts a server with `framesPerSecond` simulated refreshes a second; the server's default if nil.
    convenience init(framesPerSecond: Int? = nil) throws {
        // The server chooses a free display, and writes its number to the descriptor.
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw DidNotStart() }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { ends.forEach { close($0) } }
        var arguments = ["Xvfb", "-displayfd", "3", "-screen", "0", "320x240x24", "-nolisten", "tcp", "-noreset"]
        if let framesPerSecond { arguments += ["-fakescreenfps", "\(framesPerSecond)"] }
        try self.init(arguments, ends)
    }

    /// Starts a server on the given display.
    convenience init(display: String, framesPerSecond: Int) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw DidNotStart() }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { ends.forEach { close($0) } }
        let arguments = [
            "Xvfb", display, "-displayfd", "3", "-screen", "0", "320x240x24", "-nolisten", "tcp", "-noreset",
            "-fakescreenfps",
            "\(framesPerSecond)",
        ]
        try self.init(arguments, ends)
    }

    private init(_ arguments: [String], _ ends: [Int32]) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The server inherits none of our descriptors: a test that hangs must not keep the runner's pipes open.
        for standard in 0...2 as ClosedRange<Int32> {
            posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 3)
        var pid = pid_t()
        let words = arguments.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        guard posix_spawnp(&pid, "Xvfb", &actions, nil, words, environ) == 0 else { throw DidNotStart() }
        guard let number = Self.line(from: ends[0]) else {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
            throw DidNotStart()
        }
        self.pid = pid
        display = ":\(number)"
    }

    /// Reads a line, without its newline. Returns nil if the server writes nothing for 20 s.
    private static func line(from descriptor: Int32) -> String? {
        var text = ""
        while true {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            var byte: UInt8 = 0
            guard poll(&waiting, 1, 20_000) == 1, read(descriptor, &byte, 1) == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return text }
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
    }

    /// Returns a source on the server's display. Tries again if the server is busy and does not answer in time.
    func connect() throws -> VsyncSource {
        for _ in 0..<20 {
            let attempt = Result { try VsyncSource.x11(display: display) }
            if case .failure(let error) = attempt, (error as? TimerError)?.errorNumber == ETIMEDOUT { continue }
            return try attempt.get()
        }
        return try VsyncSource.x11(display: display)
    }

    func stop() { kill(pid, SIGSTOP) }

    func resume() { kill(pid, SIGCONT) }

    /// Kills the server, and waits for its end.
    func end() {
        // Only once: later another process may have the number.
        guard !hasEnded.exchange(true, ordering: .sequentiallyConsistent) else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    deinit { end() }
}
