// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc

/// The failure of a system operation that a timer needs: which operation the kernel refused, and why.
public struct TimerError: Error, Hashable, Sendable {
    /// The operation, in words.
    public let operation: String
    /// The error number, as in errno(3).
    public let errorNumber: Int32
    /// What was missing, if that is known.
    private let cause: String?

    package init(operation: String, errorNumber: Int32, cause: String? = nil) {
        self.operation = operation
        self.errorNumber = errorNumber
        self.cause = cause
    }
}

extension TimerError: CustomStringConvertible {
    /// One line: what was missing, for a setting that takes a right or a value; the operation, and the system's text for the error.
    public var description: String {
        // Safe: the text is copied before this thread asks for another, strerror(3).
        "\(cause.map { "\($0): " } ?? "")cannot \(operation): \(unsafe String(cString: strerror(errorNumber)))"
    }
}

/// Throws an error if `status`, a result of the C core that is 0 or a negative errno, reports one.
package func check(_ status: Int32, _ operation: @autoclosure () -> String) throws(TimerError) {
    if status < 0 { throw TimerError(operation: operation(), errorNumber: -status) }
}
#endif
