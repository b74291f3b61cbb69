// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTraits
import Testing

import func HRTimerCompat.CACurrentMediaTime
import class HRTimerCompat.CADisplayLink
import struct HRTimerCompat.CAFrameRateRange
import struct HRTimerCompat.FrameRate
import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer
import class HRTimerCompat.VsyncSource

/// A label that shows frames per second, as programs for QuartzCore have it.
private final class FPSLabel: @unchecked Sendable {
    // Sendable: used only on its run loop's thread.
    private var link: CADisplayLink!
    private var count = 0
    private var lastTime: TimeInterval = 0
    private(set) var text = ""
    private(set) var texts: [String] = []

    init(source: VsyncSource) {
        link = CADisplayLink(target: self, source: source, selector: FPSLabel.tick)
    }

    func start(_ loop: RunLoop) { link.add(to: loop, forMode: .common) }

    func stop() { link.invalidate() }

    func tick(_ link: CADisplayLink) {
        if lastTime == 0 {
            lastTime = link.timestamp
            return
        }
        count += 1
        let delta = link.timestamp - lastTime
        guard delta >= 1 else { return }
        lastTime = link.timestamp
        let fps = Double(count) / delta
        count = 0
        text = "\(Int(round(fps))) FPS"
        texts.append(text)
    }
}

/// An animation of a value over a fixed time.
private final class Animation: @unchecked Sendable {
    // Sendable: used only on its run loop's thread.
    private let begin = CACurrentMediaTime()
    private let length = 0.3
    private(set) var values: [Double] = []

    func step(_ link: CADisplayLink) {
        let progress = min(1, (link.targetTimestamp - begin) / length)
        values.append(progress * progress * (3 - 2 * progress))
        if progress == 1 { link.invalidate() }
    }
}

/// A progress view that reads its progress once per frame.
private final class ProgressHUD: @unchecked Sendable {
    // Sendable: used only on its run loop's thread.
    let progress = Progress(totalUnitCount: 100)
    private var link: CADisplayLink?
    private(set) var drawn: [Float] = []

    func show(in loop: RunLoop, source: VsyncSource) {
        let link = CADisplayLink(target: self, source: source, selector: ProgressHUD.update)
        link.preferredFramesPerSecond = 30
        link.add(to: loop, forMode: .default)
        self.link = link
    }

    func update(_ link: CADisplayLink) {
        drawn.append(Float(progress.fractionCompleted))
        if progress.isFinished { hide() }
    }

    func hide() {
        link?.invalidate()
        link = nil
    }
}

@Suite(.ownThread) struct DisplayLinkStyleTests {
    private let source = VsyncSource(frameRate: FrameRate(60))

    @Test("A frame rate label, an animation and a progress view run as they were written for QuartzCore")
    func typical() {
        let loop = RunLoop()
        let label = FPSLabel(source: source)
        label.start(loop)
        let animation = Animation()
        CADisplayLink(target: animation, source: source, selector: Animation.step).add(to: loop, forMode: .default)
        let hud = ProgressHUD()
        hud.show(in: loop, source: source)
        let work = Timer(timeInterval: 0.001, repeats: true) { timer in
            hud.progress.completedUnitCount += 1
            if hud.progress.isFinished { timer.invalidate() }
        }
        loop.add(work, forMode: .default)
        loop.run(until: Date(timeIntervalSinceNow: 1.5))
        label.stop()
        // A busy machine drops frames, but it cannot show more frames than there are.
        #expect(label.texts.count == 1)
        #expect(label.text.hasSuffix(" FPS") && Int(label.text.dropLast(4)).map { (5...61).contains($0) } == true)
        #expect(animation.values.last == 1)
        #expect(animation.values == animation.values.sorted())
        #expect(hud.drawn.last == 1)
        #expect(hud.drawn.count < 50)
        #expect(loop.liveTimers == 0)
    }

    @Test("Frame rate preferences are spelled as in QuartzCore")
    func wishes() {
        let link = CADisplayLink(target: Animation(), source: source, selector: Animation.step)
        #expect(link.preferredFrameRateRange == .default)
        link.preferredFrameRateRange = CAFrameRateRange(minimum: 15, maximum: 30, preferred: 20)
        #expect(link.frameInterval == 3)
        #expect(link.preferredFrameRateRange == CAFrameRateRange(minimum: 15, maximum: 30, preferred: 20))
        link.preferredFramesPerSecond = 30
        #expect(link.frameInterval == 2)
        #expect(abs(link.duration - 1.0 / 60) < 1e-8)
    }

    @Test("A link in no loop is released with its target; a loop retains a link until it is removed")
    func ownership() {
        weak var target: Animation?
        weak var link: CADisplayLink?
        do {
            let made = Animation()
            let madeLink = CADisplayLink(target: made, source: source, selector: Animation.step)
            (target, link) = (made, madeLink)
        }
        #expect(target == nil && link == nil)
        let loop = RunLoop()
        do {
            let made = Animation()
            let madeLink = CADisplayLink(target: made, source: source, selector: Animation.step)
            madeLink.add(to: loop, forMode: .default)
            madeLink.isPaused = true
            (target, link) = (made, madeLink)
        }
        #expect(target != nil && link != nil)
        link?.remove(from: loop, forMode: .default)
        #expect(target == nil && link == nil)
    }
}
