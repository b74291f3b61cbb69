import Glibc

/// Where everything goes that is not a result.
enum StandardError {
    static func print(_ text: String) {
        write("\(text)\n")
    }

    /// Straight to the descriptor: nothing stays in a buffer when a block begins.
    static func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            // Nobody reads: not worth ending a measurement for.
            if written <= 0 { return }
            rest = rest.dropFirst(written)
        }
    }
}

/// Whether a descriptor leads to a terminal that understands more than plain lines.
func isTerminal(_ descriptor: CInt) -> Bool {
    guard isatty(descriptor) == 1 else { return false }
    return environment("TERM") != "dumb"
}

/// The value of an environment variable, if it is set.
func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
