// A boot-time timer that wakes a suspended machine if the process may do that (CAP_WAKE_ALARM). Otherwise it fires when the
// machine runs again, and the engine reports that.
import HRTimer

var configuration = TimerEngine.Configuration(name: "alarms")
configuration.realTime.wakesSystem = true
let alarms = try BootTimeTimerEngine(configuration)
for result in alarms.settingResults { print(result) }

let loop = TimerLoop()
let done = LoopTrigger { trigger in
    print("good morning")
    trigger.invalidate()
}
loop.add(done, forMode: .default)
alarms.schedule(at: .now.advanced(by: .milliseconds(20))) { _ in done.signal() }
loop.run()
