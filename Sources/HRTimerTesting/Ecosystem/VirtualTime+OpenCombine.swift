// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if OpenCombine
public import HRTimer

extension ManualTime {
    /// This time as a scheduler of OpenCombine. The thread that moves the clock calls actions when the clock is moved to their
    /// time, and actions that are due by now when the clock is moved at all, even by zero.
    ///
    ///     let time = ManualTime()
    ///     let search = text.debounce(for: .milliseconds(300), scheduler: time.ocombine).sink { … }
    ///     time.advance(by: .milliseconds(300))
    public var ocombine: TimerScheduler { CurrentTime.with(self) { TimerEngine.shared.ocombine } }
}

extension TestTime {
    /// This time as a scheduler of OpenCombine; the same as that of `TimerEngine.shared` in the body.
    public var ocombine: TimerScheduler { manual.ocombine }
}
#endif
#endif
