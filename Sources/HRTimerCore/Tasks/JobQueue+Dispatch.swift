// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Dispatch

extension JobQueue {
    /// Runs the block on libdispatch's threads, for jobs whose host has ended.
    static func runOnDispatch(_ block: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async(execute: block)
    }
}
#endif
