/// The most mutexes that a fire may lock on the thread that fires. The one place to lower them.
enum LockBudget {
    /// Of a look of the thread that finds nothing, once in many fires.
    static let besides = 0.1

    /// A repeating timer that is alone: to wake, find it due, call it, arm it again and sleep.
    enum Alone {
        static let engineTimer = 2.0
        static let source = 3.0
        static let loopTimer = 13.0
    }

    /// One of a thousand that are due at once: what is done once for all of them, or for a batch, hardly counts.
    enum InCrowd {
        static let engineTimer = 2.0
        static let source = 2.0
        static let loopTimer = 5.0
    }
}
