import Foundation
import TestTraits
import Testing

import class HRTimerCompat.CADisplayLink
import struct HRTimerCompat.CAFrameRateRange
import func HRTimerCompat.CAFrameRateRangeMake
import struct HRTimerCompat.FrameRate
import class HRTimerCompat.LoopWorker
import class HRTimerCompat.RunLoop
import class HRTimerCompat.VsyncSource

private final class Screen: Sendable {
    func step(_ link: CADisplayLink) {}
}

/// How long a `CADisplayLink` lives, and what it says at the edges.
@Suite(.ownThread) struct DisplayLinkLifeTests {
    private let source = VsyncSource(frameRate: FrameRate(1000))

    @Test("A link and its target are let go when their loop ends, with its thread", arguments: [true, false])
    func loopEnds(isPaused: Bool) throws {
        weak var target: Screen?
        weak var link: CADisplayLink?
        do {
            let made = Screen()
            let madeLink = CADisplayLink(target: made, source: source, action: Screen.step)
            (target, link) = (made, madeLink)
            let worker = try LoopWorker(name: "link") { loop in
                madeLink.isPaused = isPaused
                madeLink.add(to: loop, forMode: .default)
            }
            worker.cancel()
            worker.wait()
        }
        // The thread frees the closure that set it up a moment later.
        for _ in 0..<2000 where target != nil { Thread.sleep(forTimeInterval: 0.005) }
        #expect(target == nil)
        #expect(link == nil)
    }

    @Test("Added to a loop that has ended a link is not held, and may be added to another one")
    func addedTooLate() throws {
        weak var target: Screen?
        weak var link: CADisplayLink?
        let worker = try LoopWorker(name: "gone") { _ in }
        worker.wait()
        let loop = RunLoop()
        do {
            let made = Screen()
            let madeLink = CADisplayLink(target: made, source: source, action: Screen.step)
            (target, link) = (made, madeLink)
            madeLink.add(to: worker.loop, forMode: .default)
            madeLink.add(to: loop, forMode: .default)
            #expect(loop.liveTimers == 1)
            madeLink.remove(from: loop, forMode: .default)
            madeLink.add(to: worker.loop, forMode: .default)
        }
        #expect(target == nil)
        #expect(link == nil)
    }

    @Test("A rate too great for an integer reads as the greatest one", arguments: [Double.infinity, 1e300, 9.3e18])
    func hugeRate(_ rate: Double) {
        let link = CADisplayLink(target: Screen(), source: source, action: Screen.step)
        link.link.preferredFramesPerSecond = rate
        #expect(link.preferredFramesPerSecond == .max)
        link.preferredFramesPerSecond = .max
        #expect(link.preferredFramesPerSecond == .max)
        link.preferredFramesPerSecond = .min
        #expect(link.preferredFramesPerSecond == 0)
    }

    @Test("A method is given as an action or, as ported code has it, as a selector; the display is that of all links")
    func selector() {
        let link = CADisplayLink(target: Screen(), selector: Screen.step)
        let loop = RunLoop()
        link.add(to: loop, forMode: .default)
        #expect(link.link.source === VsyncSource.shared)
        link.invalidate()
    }

    @Test("Before its first call a link tells no timestamps: they are 0, as on Apple's platforms")
    func timestamps() {
        let loop = RunLoop()
        let link = CADisplayLink(target: Screen(), source: source, action: Screen.step)
        #expect(link.timestamp == 0)
        link.add(to: loop, forMode: .default)
        #expect(link.timestamp == 0)
        #expect(link.targetTimestamp == 0)
        while link.link.statistics.fires == 0 { loop.run(for: .milliseconds(10)) }
        #expect(link.timestamp > 0)
        #expect(link.targetTimestamp > link.timestamp)
        link.invalidate()
        #expect(link.timestamp > 0)
    }

    @Test("A range without a preferred rate reads back without one; no preference is 0 as well")
    func ranges() {
        let link = CADisplayLink(target: Screen(), source: source, action: Screen.step)
        link.preferredFrameRateRange = CAFrameRateRange(minimum: 15, maximum: 30)
        #expect(link.preferredFrameRateRange.preferred == nil)
        #expect(link.preferredFrameRateRange == CAFrameRateRange(minimum: 15, maximum: 30))
        #expect(CAFrameRateRange(minimum: 15, maximum: 30) == CAFrameRateRange(minimum: 15, maximum: 30, preferred: 0))
        #expect(
            Set([CAFrameRateRange(minimum: 1, maximum: 2), .init(minimum: 1, maximum: 2, preferred: 0)]).count == 1
        )
        #expect(CAFrameRateRange.default == CAFrameRateRange(minimum: 0, maximum: 0, preferred: 0))
        #expect(CAFrameRateRange(minimum: 15, maximum: 30) != CAFrameRateRange(minimum: 15, maximum: 30, preferred: 20))
        #expect(CAFrameRateRangeMake(15, 30, 20) == CAFrameRateRange(minimum: 15, maximum: 30, preferred: 20))
        #expect(CAFrameRateRangeMake(15, 30, 0).preferred == nil)
        link.preferredFrameRateRange = .default
        #expect(link.preferredFrameRateRange == .default)
    }
}
