#if os(Linux)
import Dispatch

extension JobQueue {
    /// Where jobs run whose host has ended.
    static func runOnDispatch(_ block: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async(execute: block)
    }
}
#endif
