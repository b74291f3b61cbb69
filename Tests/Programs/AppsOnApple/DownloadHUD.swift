import Dispatch
import Foundation

/// Appears if a download takes its time, stays for a moment at least, and shows the progress.
final class DownloadHUD {
    private(set) var isVisible = false
    private var progressTimer: Timer?
    private var fraction = 0.0
    private let log: (String) -> Void

    init(log: @escaping (String) -> Void) { self.log = log }

    func begin() {
        DispatchQueue.main.asyncAfter(deadline: .now() + 0.03) { [self] in
            guard fraction < 1 else { return }
            isVisible = true
            log("shown")
        }
        progressTimer = Timer.scheduledTimer(withTimeInterval: 0.01, repeats: true) { [self] timer in
            fraction = min(1, fraction + 0.1)
            if fraction == 1 {
                timer.invalidate()
                finish()
            }
        }
    }

    private func finish() {
        let hide = Timer(fire: Date(timeIntervalSinceNow: 0.02), interval: 0, repeats: false) { [self] _ in
            isVisible = false
            log("hidden")
        }
        RunLoop.main.add(hide, forMode: .common)
    }
}
