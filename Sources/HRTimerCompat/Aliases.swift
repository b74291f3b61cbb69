public import HRTimer

/// Foundation's name for `LoopTimer`. For a scoped import, which hides Foundation's own in that file:
///
///     import Foundation
///     import class HRTimerCompat.Timer
public typealias Timer = LoopTimer

/// Foundation's name for `TimerLoop`, for a scoped import.
public typealias RunLoop = TimerLoop

/// QuartzCore's name for `DisplayLink`.
public typealias CADisplayLink = DisplayLink
