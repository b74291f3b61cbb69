import Glibc
import HRTimer

/// Handlers of the main actor that another thread's loop calls. This file imports the library's own names alone. What the other
/// files import of HRTimerCompat is visible here too, and must not move the handlers to that thread.
@MainActor final class Handlers {
    private let main = pthread_self()
    private let log: @Sendable (String) -> Void
    private var thread: LoopThread?

    init(log: @escaping @Sendable (String) -> Void) { self.log = log }

    func start() throws {
        let thread = try TimerLoop.thread(name: "handlers")
        let block: LoopTimer.Block = { @MainActor _ in self.note("timer's block") }
        let timers = [
            LoopTimer(timeInterval: 0.001, repeats: false) { @MainActor _ in self.note("timer") },
            LoopTimer(timeInterval: 0.001, repeats: false, block: block),
            LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in self.note("inheriting timer") },
        ]
        for timer in timers { thread.loop.add(timer, forMode: .default) }
        thread.loop.perform { @MainActor in self.note("perform") }
        thread.loop.perform(inModes: [.default]) { @MainActor in self.note("perform in modes") }
        let (main, log) = (main, log)
        Self.startPlain(in: thread.loop) { name, thread in log("\(name) \(place(thread, main))") }
        self.thread = thread
    }

    /// Handlers of no actor, which the thread itself calls.
    nonisolated static func startPlain(in loop: TimerLoop, _ note: @escaping @Sendable (String, pthread_t) -> Void) {
        let timers = [
            LoopTimer(timeInterval: 0.001, repeats: false) { _ in note("plain timer", pthread_self()) },
            LoopTimer(timeInterval: 0.001, repeats: false, policy: .burst) { _ in note("plain timer", pthread_self()) },
        ]
        for timer in timers { loop.add(timer, forMode: .default) }
        loop.perform { note("plain perform", pthread_self()) }
        loop.perform(order: 1) { note("plain perform", pthread_self()) }
        loop.perform(inModes: [.default]) { note("plain perform", pthread_self()) }
        loop.perform(inModes: [.default], order: 1) { note("plain perform", pthread_self()) }
    }

    func end() { thread = nil }

    private func note(_ name: String) { log("\(name) \(place(pthread_self(), main))") }
}

private func place(_ thread: pthread_t, _ main: pthread_t) -> String {
    thread == main ? "on the main thread" : "elsewhere"
}
