// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// What made a fire late.
///
/// Lateness is attributed in this order, to each cause at most the time that is left. First comes what the library knows by its
/// own clock: `armedLate`, `clockStep`, `suspended`, `tolerance`, and `delivery` for a call on a queue, a loop, an actor or in a
/// task. Of the time that the thread slept or ran, what the kernel has counted comes next: `runQueue`, `preempted` and
/// `pageFault`, also while a handler ran. The rest of the handlers' time is `handlerBefore`. Then come `stolen`, `stopped` and
/// `wakeup`, and what a loop did beside its timers is `loopBusy`. Time that nothing accounts for is `unexplained`.
public enum LatenessCause: String, Sendable, Hashable, CaseIterable {
    /// Handlers of other timers, or this timer's previous call, ran on the thread when the deadline came.
    ///
    /// On an actor or in a sequence of ticks, also the consumer's own work since the previous call.
    case handlerBefore
    /// The thread was awake but had no processor: another thread had it, or the quota of its cgroup was used up.
    case runQueue
    /// The kernel woke the thread late, although it did not wait for a processor: the timer's interrupt, the exit from an idle
    /// state.
    ///
    /// Also the way from there to the call, up to 20 µs.
    case wakeup
    /// The thread was awake, on its way to the call or in a handler before it, and lost the processor to another thread.
    case preempted
    /// Page faults of the thread, in its handlers before this call or in the library.
    case pageFault
    /// The host took the processor: steal time, or the clock went on while the thread ran but used no processor time.
    case stolen
    /// The process was stopped while the thread slept: SIGSTOP, a debugger, or the freezer of its cgroup.
    case stopped
    /// The system was suspended; only on clocks that count that time.
    case suspended
    /// The wall clock was set forward, past the deadline.
    case clockStep
    /// The call was submitted in time, but its queue, loop or actor, or the task's executor, was busy.
    case delivery
    /// The timer was armed after its deadline had passed.
    case armedLate
    /// The loop was busy with descriptors, blocks and observers, ran in a mode that does not have the timer, or did not run.
    case loopBusy
    /// The engine or loop waited on purpose, for a wake-up that the timer's tolerance lets it share.
    case tolerance
    /// None of these, as far as can be known.
    case unexplained

    /// The index of the cause among all.
    package var number: Int { Self.numbers[self] ?? 0 }

    /// Returns the durations of the causes that have a part; `parts_ns` has each cause's part at its number.
    static func durations(ofParts_ns parts_ns: [Int64]) -> [LatenessCause: Duration] {
        var durations: [LatenessCause: Duration] = [:]
        for (cause, part_ns) in zip(allCases, parts_ns) where part_ns > 0 { durations[cause] = .nanoseconds(part_ns) }
        return durations
    }

    private static let numbers = Dictionary(uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })
}
#endif
