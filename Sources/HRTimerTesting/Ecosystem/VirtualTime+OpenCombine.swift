#if os(Linux)
#if OpenCombine
public import HRTimer

extension ManualTime {
    /// This time as a scheduler of OpenCombine: actions are called when the clock is moved to their time, what is due by now when it
    /// is moved at all, if only by nothing. On the thread that moves it.
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
