// Notices that the process was away, for how long and why. Here a shell stops it for a second, as Ctrl-Z and fg would.
import Foundation
import HRTimer

let monitor = try SuspensionMonitor(loop: .main, threshold: .milliseconds(200)) { absence in
    print("away for \(absence.duration) or up to \(absence.uncertainty) more:", absence.cause)
    TimerLoop.main.stop()
}
// Ticks that were missed meanwhile are merged into one call; because of makeUp also those of a suspended system.
let timer = LoopTimer(timeInterval: .milliseconds(100), repeats: true, policy: .merge) { timer in
    if timer.missedTicks > 0 { print("missed ticks:", timer.missedTicks) }
}
monitor.makeUp(timer)
TimerLoop.main.add(timer, forMode: .common)

let shell = Process()
shell.executableURL = URL(filePath: "/bin/sh")
shell.arguments = ["-c", "sleep 0.5; kill -STOP $PPID; sleep 1; kill -CONT $PPID"]
try shell.run()
TimerLoop.main.run(until: .now.advanced(by: .seconds(10)))
