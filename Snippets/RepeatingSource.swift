// A handler every millisecond on the engine's own thread, with the number of ticks since its last call, like GCD's timer source.
import Dispatch
import HRTimer

let source = TimerSource()
let done = DispatchSemaphore(value: 0)
source.setEventHandler { [weak source] in
    print("ticks since the last call:", source?.data ?? 0)
}
source.setCancelHandler { done.signal() }
source.schedule(deadline: .now.advanced(by: .milliseconds(1)), repeating: .milliseconds(1))
source.activate()

TimerEngine.shared.schedule(after: .milliseconds(20)) { _ in source.cancel() }
done.wait()
