import HRTimer

// Handlers of the main actor in a file that imports this library alone. Another file of the module imports something of
// HRTimerCompat: Tests/Documentation/beside tries each form of the guide, in both language modes. Without the feature
// MemberImportVisibility the members of HRTimerCompat's extensions are then seen here too, and those with Foundation's signatures
// fit best. They must take the same handlers.
//
// A closure without `@MainActor in` belongs to the main actor in `LoopTimer(timeInterval: .seconds(1), …)`. With seconds as a number
// there is no such test: that is Foundation's signature, whose closures do not, as in Foundation.

@MainActor final class Model {
    private var count = 0

    func add(to loop: TimerLoop) {
        let now = MonotonicInstant.now
        let timers = [
            LoopTimer(timeInterval: 1, repeats: true) { @MainActor _ in self.count += 1 },
            LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in self.count += 1 },
            LoopTimer(timeInterval: 1.0, repeats: true) { @MainActor [weak self] _ in self?.count += 1 },
            LoopTimer(timeInterval: .seconds(1), repeats: true) { @MainActor _ in self.count += 1 },
            LoopTimer(fireAt: now, interval: 1, repeats: true) { @MainActor _ in self.count += 1 },
            LoopTimer(fireAt: now, interval: 1, repeats: true) { _ in self.count += 1 },
        ]
        for timer in timers { loop.add(timer, forMode: .default) }
    }

    func keep(_ block: @escaping LoopTimer.Block) -> LoopTimer {
        LoopTimer(timeInterval: 1, repeats: true, block: block)
    }

    func schedule() {
        LoopTimer.scheduled(timeInterval: 1, repeats: true) { @MainActor _ in self.count += 1 }
        LoopTimer.scheduled(timeInterval: 1, repeats: true) { _ in self.count += 1 }
    }

    func perform(in loop: TimerLoop) {
        loop.perform { @MainActor in self.count += 1 }
        loop.perform(inModes: [.default]) { @MainActor in self.count += 1 }
        loop.perform(inModes: [.default], order: 1) { @MainActor in self.count += 1 }
        loop.perform(afterDelay: 1) { @MainActor in self.count += 1 }
    }

    func handle(_ source: TimerSource) {
        source.setEventHandler { @MainActor in self.count += 1 }
        source.setCancelHandler { @MainActor in self.count += 1 }
    }
}
