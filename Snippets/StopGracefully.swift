// Saves before Ctrl-Z stops the process, in at most 2 s, and continues after fg. Here a shell sends the signals of both.
import Foundation
import HRTimer

let grace = try BackgroundGrace(duration: .seconds(2), loop: .main) { session in
    print("saving, with \(session.remaining) left")
    let saved = LoopTimer(timeInterval: .milliseconds(300), repeats: false) { _ in session.finish() }
    TimerLoop.main.add(saved, forMode: .common)
} expiration: {
    print("not saved in time")
} foreground: { away in
    print("back after", away)
    TimerLoop.main.stop()
}

let shell = Process()
shell.executableURL = URL(filePath: "/bin/sh")
shell.arguments = ["-c", "sleep 0.2; kill -TSTP $PPID; sleep 2; kill -CONT $PPID"]
try shell.run()
TimerLoop.main.run(until: .now.advanced(by: .seconds(10)))
