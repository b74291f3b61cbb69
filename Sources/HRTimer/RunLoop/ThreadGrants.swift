import HRTimerCore

/// What the kernel grants the thread of a loop: asked for by the thread itself, first of all.
final class ThreadGrants: Sendable {
    private let hasAsked = Latch()
    private let answers = Locked<[SettingGrant]>([])

    /// The thread itself. Calls `body` with the settings applied; without settings at once.
    func withSettings(_ settings: RealTimeSettings?, threadName: String, _ body: () -> Void) {
        guard let settings else {
            hasAsked.open()
            return body()
        }
        let applied = AppliedSettings(settings, threadName: threadName)
        let grants = applied.grants
        answers.withLock { $0 = grants }
        hasAsked.open()
        body()
        applied.giveBack()
    }

    @available(*, noasync)
    var all: [SettingGrant] {
        hasAsked.wait()
        return answers.withLock { $0 }
    }

    func awaitAll() async -> [SettingGrant] {
        await hasAsked.opened()
        return answers.withLock { $0 }
    }
}
