import Glibc

/// Where a report goes: standard output, or a file that was opened before anything was measured, so that a path that
/// cannot be written is known at once and not after the run.
final class ReportOutput {
    private let descriptor: CInt
    private let name: String
    /// Whether what was there before goes: not what the shell has put there.
    private let isOwn: Bool

    private init(descriptor: CInt, name: String, isOwn: Bool) {
        self.descriptor = descriptor
        self.name = name
        self.isOwn = isOwn
    }

    static func standard() -> ReportOutput { continuing(STDOUT_FILENO, name: "standard output") }

    /// A descriptor of someone else's, written to where it stands, and left open.
    static func continuing(_ descriptor: CInt, name: String) -> ReportOutput {
        ReportOutput(descriptor: descriptor, name: name, isOwn: false)
    }

    /// Keeps what is in the file until there is something to write instead.
    static func file(_ path: String) throws -> ReportOutput {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw BenchError("-o takes a file that can be written; '\(path)' cannot: \(reason)")
        }
        return ReportOutput(descriptor: descriptor, name: path, isOwn: true)
    }

    deinit {
        if isOwn { close(descriptor) }
    }

    var isTerminal: Bool { bench.isTerminal(descriptor) }

    func write(_ text: String) throws {
        // A pipe or a terminal has no length to cut, and says EINVAL.
        if isOwn, ftruncate(descriptor, 0) != 0, errno != EINVAL { throw failure() }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw failure() }
            rest = rest.dropFirst(written)
        }
    }

    private func failure() -> BenchError {
        BenchError("\(name) cannot be written: \(String(cString: strerror(errno)))")
    }
}
