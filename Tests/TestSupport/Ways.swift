public import HRTimerCore

extension WayToWait {
    /// Those that work here: Thread Sanitizer rules out the one that is woken by a signal.
    public static var available: [WayToWait] {
        allCases.filter { (try? Waiter($0)) != nil }
    }
}
