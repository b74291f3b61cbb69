import Glibc

/// The destination of everything that is not a result.
enum StandardError {
    static func print(_ text: String) {
        write("\(text)\n")
    }

    /// Writes directly to the descriptor, so that nothing is left in a buffer when a block begins.
    static func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            // Nobody reads: no reason to end a measurement.
            if written <= 0 { return }
            rest = rest.dropFirst(written)
        }
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
