import Foundation

/// Pages that turn by themselves, and rest while the user drags.
final class Carousel {
    private(set) var page = 0
    private let pages: Int
    private var timer: Timer?
    var onPage: (Int) -> Void = { _ in }

    init(pages: Int) { self.pages = pages }

    deinit { timer?.invalidate() }

    func begin() {
        let timer = Timer(timeInterval: 0.02, repeats: true) { [weak self] _ in self?.turn() }
        RunLoop.main.add(timer, forMode: RunLoop.Mode.default)
        self.timer = timer
    }

    func willBeginDragging() { timer?.fireDate = Date.distantFuture }
    func didEndDragging() { timer?.fireDate = Date().addingTimeInterval(0.05) }
    var isResting: Bool { timer.map { $0.fireDate > Date(timeIntervalSinceNow: 3600) } ?? false }

    private func turn() {
        page = (page + 1) % pages
        onPage(page)
    }
}
