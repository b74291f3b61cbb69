// SPDX-License-Identifier: Apache-2.0
// In `ServiceGroup.shutdownGracefully`. Cancelled, the sleep takes its timer along. On the clock of `Task.sleep(for:)`, which goes on
// while the system is suspended.
group.addTask {
    let (seconds, attoseconds) = maximumGracefulShutdownDuration
    let longest = Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
    try? await BootTimeClock().sleep(until: .now + longest)
    return .gracefulShutdownTimedOut
}
