#if os(Linux)
import CHRTimer
import HRTimerLibc

/// The kernel refused a call that a timer needs: which operation, and why.
public struct TimerError: Error, Hashable, Sendable {
    /// The operation, in words.
    public let operation: String
    /// The error number, as in errno(3).
    public let errorNumber: Int32

    package init(operation: String, errorNumber: Int32) {
        self.operation = operation
        self.errorNumber = errorNumber
    }
}

extension TimerError: CustomStringConvertible {
    /// One line: the operation, and the system's words for the error.
    public var description: String {
        "cannot \(operation): \(String(cString: strerror(errorNumber)))"
    }
}

/// Turns a status of the C core, 0 or a negative errno, into a thrown error.
package func check(_ status: Int32, _ operation: @autoclosure () -> String) throws(TimerError) {
    if status < 0 { throw TimerError(operation: operation(), errorNumber: -status) }
}
#endif
