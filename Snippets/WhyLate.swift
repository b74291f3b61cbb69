// Why a timer was late: another timer's handler took its time. The report says which, and how long; a flight recorder has it all.
import HRTimer

let loop = TimerLoop.main
let recorder = FlightRecorder(lateBeyond: .milliseconds(1))
loop.flightRecorder = recorder
loop.onLate(beyond: .milliseconds(1)) { report in print(report) }

let slow = LoopTimer(timeInterval: .milliseconds(10), repeats: false) { _ in
    let end = MonotonicInstant.now.advanced(by: .milliseconds(3))
    while MonotonicInstant.now < end {}
}
let late = LoopTimer(timeInterval: .milliseconds(10), repeats: false) { _ in print("called, 3 ms late") }
loop.add(slow, forMode: .default)
loop.add(late, forMode: .default)
loop.run(for: .milliseconds(50))

for (cause, time) in loop.statistics.lateness.byCause { print("\(cause): \(time)") }
// For ui.perfetto.dev: try recorder.dump(to: "late.json")
print("events recorded: \(recorder.json().split(separator: "\n").count - 2)")
