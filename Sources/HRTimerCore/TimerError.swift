#if os(Linux)
import CHRTimer
import HRTimerLibc

/// The failure of a system operation that a timer needs: which operation the kernel refused, and why.
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
    /// One line: the operation, and the system's text for the error.
    public var description: String {
        "cannot \(operation): \(String(cString: strerror(errorNumber)))"
    }
}

/// Throws an error if `status`, a result of the C core that is 0 or a negative errno, reports one.
package func check(_ status: Int32, _ operation: @autoclosure () -> String) throws(TimerError) {
    if status < 0 { throw TimerError(operation: operation(), errorNumber: -status) }
}
#endif
