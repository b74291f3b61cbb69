// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A shell beside this process. It can do to this process what the process cannot do to itself, and knows it as $PPID.
public struct Shell: Sendable {
    private let pid: pid_t

    /// Starts `/bin/sh -c script` with no signal blocked and all signals at their defaults. Returns nil if it cannot be started.
    public init?(_ script: String) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var pid = pid_t()
        let arguments = ["/bin/sh", "-c", script].map { (text: String) in strdup(text) } + [nil]
        defer { arguments.forEach { free($0) } }
        guard posix_spawn(&pid, "/bin/sh", nil, &attributes, arguments, environ) == 0 else { return nil }
        self.pid = pid
    }

    /// Waits for the shell to end. Returns its exit status, or -1 if a signal ended it.
    public func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) == -1 && errno == EINTR {}
        return status & 0x7f == 0 ? status >> 8 & 0xff : -1
    }

    /// Runs `script` to its end. Returns its status as `wait()` does, or nil if it cannot be started.
    public static func run(_ script: String) -> Int32? { Shell(script)?.wait() }
}
