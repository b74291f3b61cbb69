// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The destination of everything that is not a result.
enum StandardError {
    static func print(_ text: String) { write("\(text)\n") }

    static func write(_ text: String) {
        // That nobody reads is no reason to end a measurement.
        _ = writeAll(text, to: STDERR_FILENO)
    }
}

/// Returns whether a descriptor belongs to a terminal that supports more than plain lines.
func isTerminal(_ descriptor: CInt) -> Bool {
    guard isatty(descriptor) == 1 else { return false }
    return environment("TERM") != "dumb"
}

/// Returns the value of an environment variable, or nil if it is not set.
func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
