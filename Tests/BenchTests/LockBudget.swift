// SPDX-License-Identifier: Apache-2.0
/// The most mutexes that a fire may lock on the thread that fires. The only place where these limits are set.
enum LockBudget {
    /// An allowance for the thread's polls that find nothing due, which come once in many fires.
    static let besides = 0.1

    /// A repeating timer that is alone: waking, finding it due, calling it, arming it again and sleeping.
    enum Alone {
        static let engineTimer = 2.0
        static let source = 3.0
        static let loopTimer = 13.0
    }

    /// One of a thousand timers that are due at once: work done once for all of them, or once per batch, hardly counts.
    enum InCrowd {
        static let engineTimer = 2.0
        static let source = 2.0
        static let loopTimer = 5.0
    }
}
