#if os(Linux)
/// What made a fire late.
///
/// Where the kernel's counts leave room, time is attributed in this order: what the library knows by its own clock first
/// (`armedLate`, `clockStep`, `suspended`, `tolerance`, `handlerBefore`, `loopBusy`, `delivery`), then what the kernel has
/// counted (`runQueue`, `preempted`, `pageFault`, `stopped`, `stolen`), each at most the time that is left; then `wakeup`. What
/// nothing accounts for is `unexplained`.
public enum LatenessCause: String, Sendable, Hashable, CaseIterable {
    /// Handlers of other timers, or the one of the call before, ran on the thread when the deadline came. On an actor or in a
    /// sequence of ticks also the consumer's own work since the call before.
    case handlerBefore
    /// The thread was awake, and had no processor: another thread had it, or the quota of its cgroup was used up.
    case runQueue
    /// The kernel woke the thread late without having it wait for a processor: the timer's interrupt, the exit from an idle
    /// state; and the way from there to the call, up to 20 µs.
    case wakeup
    /// The thread was awake and on its way to the call, or in a handler before it, and lost the processor to another thread.
    case preempted
    /// Page faults of the thread: of its handlers, before this call, or of the library.
    case pageFault
    /// The host took the processor: steal time, or the clock went on while the thread ran and used no processor time.
    case stolen
    /// The process was stopped while the thread slept: SIGSTOP, a debugger, or the freezer of its cgroup.
    case stopped
    /// The system was suspended, on clocks that count that.
    case suspended
    /// The wall clock was set forward, over the deadline.
    case clockStep
    /// The call was submitted in time, and its queue, loop or actor, or the task's executor, was busy.
    case delivery
    /// The timer was armed when the deadline had passed.
    case armedLate
    /// The loop was busy with descriptors, blocks and observers, or ran in no mode that has the timer, or did not run.
    case loopBusy
    /// The engine or loop waited on purpose, for a wake-up that the timer's tolerance lets it share.
    case tolerance
    /// None of these, as far as can be known.
    case unexplained

    /// Its place among all.
    package var number: Int { Self.numbers[self] ?? 0 }

    private static let numbers = Dictionary(uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })
}
#endif
