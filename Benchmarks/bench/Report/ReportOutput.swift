// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The destination of a report: standard output, or a file. A file is opened before the measurement, so that a path that
/// cannot be written is reported at once and not after the run.
final class ReportOutput {
    private let descriptor: CInt
    private let name: String
    /// Whether the bench opened the file itself: writing then replaces its content, and the descriptor is closed at the
    /// end.
    private let isOwn: Bool

    private init(descriptor: CInt, name: String, isOwn: Bool) {
        self.descriptor = descriptor
        self.name = name
        self.isOwn = isOwn
    }

    static func standard() -> ReportOutput { continuing(STDOUT_FILENO, name: "standard output") }

    /// Returns an output to a foreign descriptor, which is written from its present position, and left open.
    static func continuing(_ descriptor: CInt, name: String) -> ReportOutput {
        ReportOutput(descriptor: descriptor, name: name, isOwn: false)
    }

    /// Opens a file. Its content stays until there is something to write instead.
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
        // A pipe or a terminal cannot be truncated, and fails with EINVAL.
        if isOwn, ftruncate(descriptor, 0) != 0, errno != EINVAL { throw failure() }
        guard writeAll(text, to: descriptor) else { throw failure() }
    }

    private func failure() -> BenchError {
        BenchError("\(name) cannot be written: \(String(cString: strerror(errno)))")
    }
}

/// Writes directly to the descriptor, so that nothing is left in a buffer when a block begins. Returns false with errno if
/// that fails.
func writeAll(_ text: String, to descriptor: CInt) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { return false }
        rest = rest.dropFirst(written)
    }
    return true
}
