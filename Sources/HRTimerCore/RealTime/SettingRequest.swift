// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// A setting as it is requested, and what it takes: the error of a refusal begins with what was missing.
struct SettingRequest {
    /// What is requested: the setting's name, and the value.
    let operation: String
    /// The rights and limits, for EPERM and EACCES; beyond a limit mlockall(2) also fails with ENOMEM.
    var rights: String?
    /// The values, for EINVAL.
    var range: String?
    /// The least kernel, for ENOTSUP.
    var kernel: String?

    func refusal(_ errorNumber: Int32) -> TimerError {
        let cause =
            switch errorNumber {
            case EPERM, EACCES, ENOMEM: rights
            case EINVAL: range
            case ENOTSUP: kernel
            default: String?.none
            }
        return TimerError(operation: operation, errorNumber: errorNumber, cause: cause.map { "takes \($0)" })
    }

    /// Throws the refusal if `status`, a result of the C core that is 0 or a negative errno, reports one.
    func check(_ status: Int32) throws(TimerError) {
        if status < 0 { throw refusal(-status) }
    }
}
#endif
