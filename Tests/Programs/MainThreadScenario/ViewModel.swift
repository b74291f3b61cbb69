// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Glibc
import HRTimer

/// A program whose state is on the main actor. It says a word for each kind of call when all calls of that kind have come, on
/// the main actor.
@MainActor public final class ViewModel {
    private var words: Set<String> = []
    private var ticks = 0
    private var grace: BackgroundGrace?
    private var monitor: SuspensionMonitor?
    private let onMainThread: Bool

    private static let expected: Set<String> = [
        "tick", "once", "here", "frame", "delayed", "task", "sleep", "detached", "block", "later", "perform", "source",
        "background", "foreground", "away",
    ]

    /// `onMainThread` is whether code of the main actor must run on the main thread.
    public init(onMainThread: Bool) {
        self.onMainThread = onMainThread
    }

    /// Begins everything. Prints the words and exits when all have come. After 20 s it gives up, and exits with status 1.
    public func begin() throws {
        let watchdog = DispatchSource.makeTimerSource(queue: .global())
        watchdog.schedule(deadline: .now() + 20)
        watchdog.setEventHandler { @Sendable in
            print("not everything came in time")
            exit(1)
        }
        watchdog.activate()
        self.watchdog = watchdog
        beginTimers()
        beginTasks()
        try beginLifecycle()
    }

    private var watchdog: (any DispatchSourceTimer)?
    private var source: TimerSource?

    private func beginTimers() {
        let timer = LoopTimer(timeInterval: .milliseconds(5), weakTarget: self, action: ViewModel.tick, repeats: true)
        TimerLoop.main.add(timer, forMode: .common)
        let once = LoopTimer(timeInterval: .milliseconds(7), repeats: false) { @MainActor _ in self.say("once") }
        TimerLoop.main.add(once, forMode: .default)
        TimerLoop.main.perform { @MainActor in self.say("perform") }
        TimerLoop.main.perform(afterDelay: .milliseconds(4)) { @MainActor in self.sayLater() }
        let link = DisplayLink(framesPerSecond: 100) { @MainActor link in
            self.say("frame")
            link.invalidate()
        }
        link.add(to: .main, forMode: .common)
        // The block is called where this function was called, on the main actor, and may use what is not Sendable.
        let count = Count()
        LoopTimer.scheduledHere(timeInterval: .milliseconds(2), repeats: true) { timer in
            count.value += 1
            guard count.value == 5 else { return }
            timer.invalidate()
            self.say("here")
        }
        let source = TimerSource(queue: .main)
        source.setEventHandler { @MainActor in self.say("source") }
        source.schedule(deadline: .now.advanced(by: .milliseconds(3)))
        source.activate()
        self.source = source
    }

    private func tick(_ timer: LoopTimer) {
        ticks += 1
        guard ticks == 20 else { return }
        timer.invalidate()
        say("tick")
    }

    private func sayLater() { say("delayed") }

    private final class Count { var value = 0 }

    private func beginTasks() {
        Task { self.say("task") }
        Task {
            try await Task.sleep(for: .milliseconds(20))
            self.say("sleep")
        }
        Task.detached { await self.say("detached") }
        DispatchQueue.main.async { MainActor.assumeIsolated { self.say("block") } }
        DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(30)) {
            MainActor.assumeIsolated { self.say("later") }
        }
    }

    /// Ctrl-Z and fg, and then a stop that only the monitor notices.
    private func beginLifecycle() throws {
        grace = try BackgroundGrace(duration: .seconds(60), loop: .main) { @MainActor _ in
            self.say("background")
            kill(getpid(), SIGCONT)
        } foreground: { @MainActor _ in
            self.say("foreground")
            self.stop()
        }
        kill(getpid(), SIGTSTP)
    }

    private func stop() {
        do {
            monitor = try SuspensionMonitor(loop: .main, threshold: .milliseconds(200)) { @MainActor absence in
                if absence.duration >= .milliseconds(200) { self.say("away") }
            }
        } catch { print(error) }
        // Only another process can end a SIGSTOP.
        let keys = ["sh", "-c", "sleep 0.1; kill -STOP $PPID; sleep 0.6; kill -CONT $PPID"]
        var arguments = keys.map { strdup($0) } + [nil]
        var child = pid_t()
        posix_spawn(&child, "/bin/sh", nil, nil, &arguments, nil)
        for argument in arguments { free(argument) }
    }

    private func say(_ word: String) {
        if onMainThread, hrt_thread_id() != getpid() {
            print("not on the main thread:", word)
            exit(1)
        }
        words.insert(word)
        guard words == Self.expected else { return }
        print(words.sorted().joined(separator: " "))
        exit(0)
    }
}
