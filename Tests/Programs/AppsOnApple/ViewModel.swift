import Foundation

/// The model behind a screen: on the main actor, with a timer, a task and deferred work.
@MainActor final class ViewModel {
    private(set) var elapsed = 0
    private(set) var status = "idle"
    private var ticker: Timer?
    private var search: Timer?
    let log: (String) -> Void

    init(log: @escaping (String) -> Void) { self.log = log }

    func appear() {
        ticker = Timer.scheduledTimer(withTimeInterval: 0.02, repeats: true) { [weak self] _ in
            MainActor.assumeIsolated { self?.tick() }
        }
        Task { await load() }
    }

    /// Searches when nothing was typed for a moment.
    func type(_ text: String) {
        search?.invalidate()
        search = Timer.scheduledTimer(withTimeInterval: 0.03, repeats: false) { [weak self] _ in
            MainActor.assumeIsolated { self?.log("search \(text)") }
        }
    }

    private func tick() {
        elapsed += 1
        if elapsed == 3 { ticker?.invalidate() }
        if elapsed <= 3 { log("tick \(elapsed)") }
    }

    private func load() async {
        status = "loading"
        try? await Task.sleep(nanoseconds: 5_000_000)
        status = "loaded"
        log(status)
    }
}
