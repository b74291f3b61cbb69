import HRTimer

// Code of the main actor. A closure that is given to an item of a loop belongs to the main actor as the code around it does. Where
// the call itself sends a closure elsewhere, the closure names its actor; Refused/HandlersElsewhere.swift has those without.

@MainActor final class Model {
    var count = 0
    private var items: [any Sendable] = []

    func items(of loop: TimerLoop, descriptor: Int32) throws {
        let now = MonotonicInstant.now
        items = [
            LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in self.count += 1 },
            LoopTimer(timeInterval: 1.0, repeats: true) { _ in self.count += 1 },
            LoopTimer(fireAt: now) { [weak self] _ in self?.count += 1 },
            LoopTimer(fireAt: WallInstant.now) { _ in self.count += 1 },
            LoopTimer.rearmable { _ in self.count += 1 },
            try BackgroundGrace(duration: 1.0, loop: loop) { session in
                self.count += 1
                session.finish()
            } expiration: {
                self.count += 1
            } foreground: { _ in
                self.count += 1
            },
            DisplayLink { _ in self.count += 1 },
            FrameCoalescer<Int>(loop: loop) { self.count += $0 },
            try LoopSource(descriptor: descriptor) { _, _ in self.count += 1 },
            try LoopSource.signal(1) { _, _ in self.count += 1 },
            LoopObserver(activities: .all) { _, _ in self.count += 1 },
            LoopTrigger { _ in self.count += 1 },
        ]
    }

    func scheduled() {
        LoopTimer.scheduled(timeInterval: 1.0, repeats: true) { _ in self.count += 1 }
        LoopTimer.scheduledHere(timeInterval: 1.0, repeats: true) { _ in self.count += 1 }
    }

    func elsewhere(_ loop: TimerLoop, _ source: TimerSource, _ registry: TimerRegistry) throws {
        loop.perform { @MainActor in self.count += 1 }
        loop.perform(inModes: [.default], order: 1) { @MainActor in self.count += 1 }
        loop.perform(afterDelay: 1.0) { @MainActor in self.count += 1 }
        TimerLoop.performOnMain { self.count += 1 }
        source.setEventHandler { @MainActor in self.count += 1 }
        source.setRegistrationHandler { @MainActor in self.count += 1 }
        source.setCancelHandler { @MainActor in self.count += 1 }
        try registry.execute(name: "task") { @MainActor in self.count += 1 }
        items = [try SuspensionMonitor { @MainActor _ in self.count += 1 }]
    }
}
