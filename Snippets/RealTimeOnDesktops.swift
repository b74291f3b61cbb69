// A real-time scheduling class for an audio program, by the process's own rights or granted by RealtimeKit or the portal.
import HRTimer

var configuration = TimerEngine.Configuration(name: "audio")
configuration.realTime.schedulingClass = .fifo(priority: 10)
let engine = try TimerEngine(configuration)
for result in engine.settingResults where result.setting == .schedulingClass {
    switch (result.isGranted, result.grantor) {
    case (true, .kernel): print("by right")
    case (true, let grantor): print("granted by", grantor, "- no call may compute for 200 ms")
    case (false, _): print("an ordinary thread:", result)
    }
}
engine.shutdown()
