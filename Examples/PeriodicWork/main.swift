// SPDX-License-Identifier: Apache-2.0
// Interval and calendar work as services, with a graceful shutdown: `swift run --traits ServiceLifecycle PeriodicWork`.
#if canImport(ServiceLifecycle)
import Foundation
import HRTimer
import HRTimerCalendar
import Logging
import ServiceLifecycle

struct Busy: Error {}
let (runs, run) = AsyncStream.makeStream(of: Int.self)

var number = 0
let cleanUp = PeriodicService(every: .milliseconds(20), firstRun: .atStart) { error in
    print("failed with \(error), and goes on")
} work: { @MainActor in
    number += 1
    run.yield(number)
    if number == 2 { throw Busy() }
}
let seconds = try CalendarSchedule(matching: DateComponents(nanosecond: 0), in: TimeZone.current)
let onTheSecond = PeriodicService(by: seconds) { error in
    print(error)
} work: {
    print("a whole second:", WallInstant.now)
}
let timers = TimerEngineService(try TimerEngine()) { dropped, _ in print("\(dropped) timers dropped") }

// A real program also waits for SIGTERM: gracefulShutdownSignals: [.sigterm].
var logger = Logger(label: "PeriodicWork")
logger.logLevel = .warning
let group = ServiceGroup(services: [timers, cleanUp, onTheSecond], logger: logger)
async let running: Void = group.run()
for await number in runs where number == 5 { break }
try await Task.sleep(for: .seconds(1), clock: .monotonic)
await group.triggerGracefulShutdown()
try await running
print("done \(number > 5 ? "more than five times" : "\(number) times")")
#else
print("needs the trait ServiceLifecycle: swift run --traits ServiceLifecycle PeriodicWork")
#endif
