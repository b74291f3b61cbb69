import HRTimer

// Code of the main actor. Where the call itself sends a closure to an engine's thread, a queue or another loop, the closure is not
// the main actor's unless it says so, as with `DispatchQueue.async`: it would silently wait for the main thread.
// Accepted/HandlersOfTheMainActor.swift has the same with `@MainActor in`.

@MainActor final class Model {
    var count = 0

    func elsewhere(_ loop: TimerLoop, _ source: TimerSource, _ registry: TimerRegistry) throws {
        loop.perform { self.count += 1 }  // refused
        loop.perform(inModes: [.default], order: 1) { self.count += 1 }  // refused
        loop.perform(afterDelay: 1.0) { self.count += 1 }  // refused
        source.setEventHandler { self.count += 1 }  // refused
        source.setRegistrationHandler { self.count += 1 }  // refused
        source.setCancelHandler { self.count += 1 }  // refused
        try registry.execute(name: "task") { self.count += 1 }  // refused
        _ = try SuspensionMonitor { _ in self.count += 1 }  // refused
    }
}
