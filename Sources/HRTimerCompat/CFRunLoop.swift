// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import FoundationEssentials
public import HRTimer
import HRTimerCore

// The functions of Core Foundation's run loops that ported code calls; Foundation on Linux exports none of them:
//
//     CFRunLoopStop(CFRunLoopGetMain())
//
// They do nothing on a nil loop, timer or observer, which Core Foundation's types allow. What Core Foundation reads and sets by
// further functions are properties here: `fireDate`, `tolerance`, `isValid`, `currentMode`. There are no functions for sources:
// `LoopTrigger` is a source of version 0, and `LoopSource` watches a descriptor.

/// `TimerLoop` under Core Foundation's name.
public typealias CFRunLoop = TimerLoop
/// `LoopTimer` under Core Foundation's name.
public typealias CFRunLoopTimer = LoopTimer
/// `LoopObserver` under Core Foundation's name.
public typealias CFRunLoopObserver = LoopObserver
/// The points in a pass of a loop.
public typealias CFRunLoopActivity = LoopObserver.Activity
/// The name of a mode.
public typealias CFRunLoopMode = TimerLoop.Mode
/// Why a run ended.
public typealias CFRunLoopRunResult = TimerLoop.RunResult

extension TimerLoop.Mode {
    /// `.default` as Core Foundation spells it.
    public static let defaultMode = TimerLoop.Mode.default
    /// `.common` as Core Foundation spells it.
    public static let commonModes = TimerLoop.Mode.common
}

extension LoopObserver.Activity {
    /// `.all` as Core Foundation spells it.
    public static let allActivities = LoopObserver.Activity.all
}

/// Returns the calling thread's loop.
@available(*, noasync, message: "use CFRunLoopGetMain(), whose loop runs by itself under an async main")
public func CFRunLoopGetCurrent() -> CFRunLoop { .current }

/// Returns the main thread's loop.
public func CFRunLoopGetMain() -> CFRunLoop { .main }

/// Runs the calling thread's loop in the default mode, until it is stopped or has nothing left.
@available(
    *,
    noasync,
    message: "TimerLoop.main runs by itself under an async main, and any other loop in TimerLoop.thread()"
)
public func CFRunLoopRun() { TimerLoop.current.run() }

/// Runs the calling thread's loop in `mode` for that many seconds, or if `returnAfterSourceHandled` until one source was
/// handled.
@available(
    *,
    noasync,
    message: "TimerLoop.main runs by itself under an async main, and any other loop in TimerLoop.thread()"
)
@discardableResult
public func CFRunLoopRunInMode(
    _ mode: CFRunLoopMode,
    _ seconds: CFTimeInterval,
    _ returnAfterSourceHandled: Bool
) -> CFRunLoopRunResult {
    TimerLoop.current.run(mode: mode, for: seconds, returnsAfterSource: returnAfterSourceHandled)
}

/// Ends the innermost current run.
///
/// Any thread.
public func CFRunLoopStop(_ loop: CFRunLoop?) { loop?.stop() }

/// Makes the loop do one more pass.
///
/// Any thread.
public func CFRunLoopWakeUp(_ loop: CFRunLoop?) { loop?.wakeUp() }

/// Makes a mode one of the common ones.
public func CFRunLoopAddCommonMode(_ loop: CFRunLoop?, _ mode: CFRunLoopMode) { loop?.addCommonMode(mode) }

/// Calls `block` once, in the loop's next pass in `mode`.
///
/// Wakes the loop, unlike Core Foundation's function.
public func CFRunLoopPerformBlock(
    _ loop: CFRunLoop?,
    _ mode: CFRunLoopMode,
    _ block: @escaping @isolated(any) @Sendable () -> Void
) {
    loop?.perform(inModes: [mode], order: 0, block)
}

/// Calls `block` once, in the loop's next pass in the mode of that name, for example `CFRunLoopMode.commonModes.rawValue`.
public func CFRunLoopPerformBlock(
    _ loop: CFRunLoop?,
    _ mode: String,
    _ block: @escaping @isolated(any) @Sendable () -> Void
) {
    CFRunLoopPerformBlock(loop, CFRunLoopMode(mode), block)
}

// MARK: Timers

/// Makes the loop serve the timer in `mode`.
public func CFRunLoopAddTimer(_ loop: CFRunLoop?, _ timer: CFRunLoopTimer?, _ mode: CFRunLoopMode) {
    if let timer { loop?.add(timer, forMode: mode) }
}

/// Removes the timer from one mode.
public func CFRunLoopRemoveTimer(_ loop: CFRunLoop?, _ timer: CFRunLoopTimer?, _ mode: CFRunLoopMode) {
    if let timer { loop?.remove(timer, forMode: mode) }
}

/// Makes a timer that fires at `fireDate`, and if the interval is above zero, at every interval after that.
///
/// Ignores `flags`, as Core Foundation does too, and `order`: equal deadlines fire in the order of arming.
public func CFRunLoopTimerCreateWithHandler(
    _ allocator: CFAllocator?,
    _ fireDate: CFAbsoluteTime,
    _ interval: CFTimeInterval,
    _ flags: UInt,
    _ order: Int,
    @_inheritActorContext _ block: @escaping @isolated(any) @Sendable (CFRunLoopTimer?) -> Void
) -> CFRunLoopTimer {
    let date = Date(timeIntervalSinceReferenceDate: fireDate)
    let call = onItsActor(merges: true, block)
    return LoopTimer(fireAt: date, interval: interval, repeats: interval > 0) { timer in call(timer) }
}

/// Ends the timer.
public func CFRunLoopTimerInvalidate(_ timer: CFRunLoopTimer?) { timer?.invalidate() }

/// Moves the next deadline.
public func CFRunLoopTimerSetNextFireDate(_ timer: CFRunLoopTimer?, _ fireDate: CFAbsoluteTime) {
    timer?.fireDate = Date(timeIntervalSinceReferenceDate: fireDate)
}

// MARK: Observers

/// Makes an observer of those activities, which are bits, for example `CFRunLoopActivity.beforeWaiting.rawValue`.
public func CFRunLoopObserverCreateWithHandler(
    _ allocator: CFAllocator?,
    _ activities: some BinaryInteger,
    _ repeats: Bool,
    _ order: Int,
    @_inheritActorContext _ block: @escaping @isolated(any) @Sendable (CFRunLoopObserver?, CFRunLoopActivity) -> Void
) -> CFRunLoopObserver {
    let activities = CFRunLoopActivity(rawValue: UInt32(truncatingIfNeeded: activities))
    let call = onItsActor(unless: { repeats && $0?.isValid != true }, block)
    return LoopObserver(activities: activities, repeats: repeats, order: order) { call($0, $1) }
}

/// Makes the loop call the observer at its points in passes in `mode`.
public func CFRunLoopAddObserver(_ loop: CFRunLoop?, _ observer: CFRunLoopObserver?, _ mode: CFRunLoopMode) {
    if let observer { loop?.add(observer, forMode: mode) }
}

/// Removes the observer from one mode.
public func CFRunLoopRemoveObserver(_ loop: CFRunLoop?, _ observer: CFRunLoopObserver?, _ mode: CFRunLoopMode) {
    if let observer { loop?.remove(observer, forMode: mode) }
}

/// Ends the observer.
public func CFRunLoopObserverInvalidate(_ observer: CFRunLoopObserver?) { observer?.invalidate() }

// MARK: Types of their arguments

/// A time in seconds since 2001.
public typealias CFAbsoluteTime = Double

/// Returns the time of day, in seconds since 2001.
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }

/// The type of an allocator.
///
/// Swift has its own memory management: the only allocator is nil.
public enum CFAllocator: Sendable {}

/// The only allocator, nil.
public let kCFAllocatorDefault: CFAllocator? = nil
#endif
