import Dispatch

extension JobQueue {
    /// Where jobs go on that have lost their thread.
    static func runOnDispatch(_ block: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async(execute: block)
    }
}
