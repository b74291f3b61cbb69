// SPDX-License-Identifier: Apache-2.0
// Scenarios that only a process's main thread can show, one for each argument. MainThreadTests runs this program.
import CHRTimer
import Dispatch
import Foundation
import HRTimer
import MainThreadScenario

switch CommandLine.arguments.dropFirst().first {
case "loop":
    try ViewModel(onMainThread: true).begin()
    TimerLoop.main.run()
case "foundation":
    try ViewModel(onMainThread: true).begin()
    try TimerLoop.main.serve(on: .main)
    RunLoop.main.run()
case "foundation-current":
    try ViewModel(onMainThread: true).begin()
    try TimerLoop.main.serveOnCurrentRunLoop()
    RunLoop.main.run()
case "foundation-by-hand":
    // As programs did before there was `serve(on:)`.
    let source = DispatchSource.makeReadSource(fileDescriptor: try TimerLoop.main.hostDescriptor(), queue: .main)
    source.setEventHandler { TimerLoop.main.process() }
    source.activate()
    try ViewModel(onMainThread: true).begin()
    TimerLoop.main.process()
    RunLoop.main.run()
    withExtendedLifetime(source) {}
case "poll":
    try ViewModel(onMainThread: true).begin()
    TimerLoop.main.process()
    var watched = pollfd(fd: try TimerLoop.main.hostDescriptor(), events: Int16(POLLIN), revents: 0)
    while true { if poll(&watched, 1, -1) > 0 { TimerLoop.main.process() } }
case "dispatch":
    try ViewModel(onMainThread: false).begin()
    dispatchMain()
case "loop-then-dispatch":
    TimerLoop.main.run(until: .now.advanced(by: .milliseconds(50)))
    try ViewModel(onMainThread: false).begin()
    dispatchMain()
case let probe?:
    runProbe(probe)
case nil:
    print("which of the things in main.swift?")
    exit(2)
}
