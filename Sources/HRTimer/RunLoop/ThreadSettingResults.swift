#if os(Linux)
import HRTimerCore

/// The kernel's answers to the settings of a loop's thread. The thread itself requests the settings before anything else.
final class ThreadSettingResults: Sendable {
    private let hasRequested = Latch()
    private let answers = Locked<[SettingResult]>([])

    /// Applies the settings to the calling thread, which must be the loop's, and calls `body`; without settings it calls
    /// `body` at once. `body` gets the bound on the wake latency, which is to be held while a precise timer is due soon.
    func withSettings(_ settings: RealTimeSettings?, threadName: String, _ body: (WakeLatency?) -> Void) {
        guard let settings else {
            hasRequested.open()
            return body(nil)
        }
        let applied = AppliedSettings(settings, threadName: threadName)
        let settingResults = applied.settingResults
        answers.withLock { $0 = settingResults }
        hasRequested.open()
        body(applied.wakeLatency)
        applied.giveBack()
    }

    @available(*, noasync)
    var all: [SettingResult] {
        hasRequested.wait()
        return answers.withLock { $0 }
    }

    func awaitAll() async -> [SettingResult] {
        await hasRequested.opened()
        return answers.withLock { $0 }
    }
}
#endif
