// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
extension UnownedSerialExecutor {
    /// No executor, as for code that belongs to no actor: `swift_executor_generic` of swift/ExecutorImpl.h, two words of zero. On another
    /// executor each nonisolated call of a job would be enqueued again.
    package static var generic: UnownedSerialExecutor {
        // Safe: the reference has these two words, whose size unsafeBitCast checks.
        unsafe unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
    }
}
#endif
