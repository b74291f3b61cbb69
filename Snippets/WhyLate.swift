// Why a timer was late: another one's handler took its time. The report says which, and how long; a flight recorder has it all.
import HRTimer

let engine = try TimerEngine(name: "frames")
let recorder = FlightRecorder(lateBeyond: .milliseconds(1))
engine.flightRecorder = recorder
engine.onLate(beyond: .milliseconds(1)) { report in print(report) }

let first = MonotonicInstant.now.advanced(by: .milliseconds(10))
engine.schedule(at: first) { _ in
    let end = MonotonicInstant.now.advanced(by: .milliseconds(3))
    while MonotonicInstant.now < end {}
}
let (called, continuation) = AsyncStream.makeStream(of: Void.self)
engine.schedule(at: first) { _ in continuation.yield() }
for await _ in called { break }
// The report comes when the late handler has returned.
engine.cancelAndWait(engine.schedule(after: .zero) { _ in })
await engine.shutdown()

for (cause, time) in engine.statistics.lateness.byCause { print("\(cause): \(time)") }
// For ui.perfetto.dev: try recorder.dump(to: "late.json")
print("events recorded: \(recorder.json().split(separator: "\n").count - 2)")
