#if canImport(HRTimerCompat)
import Foundation

import class HRTimerCompat.CADisplayLink
import typealias HRTimerCompat.CFTimeInterval

/// A label that shows the screen's frames per second.
@MainActor final class FrameLabel {
    private var link: CADisplayLink?
    private var first: CFTimeInterval = 0
    private(set) var frames = 0
    let onText: (String) -> Void

    init(onText: @escaping (String) -> Void) { self.onText = onText }

    func start() {
        let link = CADisplayLink(target: self) { label in { @MainActor link in label.step(link) } }
        link.preferredFramesPerSecond = 60
        link.add(to: .main, forMode: .common)
        self.link = link
    }

    private func step(_ link: CADisplayLink) {
        if frames == 0 { first = link.timestamp }
        frames += 1
        guard frames == 4 else { return }
        let rate = Double(frames - 1) / (link.timestamp - first)
        onText(rate > 0 && rate < 61 ? "at most 60 frames a second" : "\(rate)")
        link.invalidate()
        self.link = nil
    }
}
#endif
