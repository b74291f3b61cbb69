package import Dispatch

extension SourceCore {
    /// Where the handlers of a source belong, if not on the engine's thread. One object for each source, so that a source without
    /// one pays a word.
    package final class Target: Sendable {
        private enum Place: Sendable {
            case queue(DispatchQueue, DispatchQoS, UInt)
            case other(@Sendable (@escaping @Sendable () -> Void) -> Void)
        }

        private let place: Place

        /// What has a block run there.
        package init(_ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
            place = .other(submit)
        }

        package init(
            queue: DispatchQueue,
            qos: DispatchQoS = .unspecified,
            flags: DispatchWorkItemFlags = []
        ) {
            // The flags are not Sendable in Dispatch's types, the number that they are is.
            place = .queue(queue, qos, flags.rawValue)
        }

        /// Nil if it is none.
        package var queue: DispatchQueue? {
            if case .queue(let queue, _, _) = place { return queue }
            return nil
        }

        /// Has the block run there.
        package func submit(_ block: @escaping @Sendable () -> Void) {
            switch place {
            case .queue(let queue, let qos, let flags):
                queue.async(qos: qos, flags: DispatchWorkItemFlags(rawValue: flags), execute: block)
            case .other(let submit):
                submit(block)
            }
        }
    }
}
