// SPDX-License-Identifier: Apache-2.0
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

/// The lifetime of a `CADisplayLink`, and its values in edge cases.
@Suite(.ownThread) struct DisplayLinkLifeTests {
    private let source = VsyncSource(frameRate: FrameRate(1000))

    @Test("A link and its target are released when their loop ends with its thread", arguments: [true, false])
    func loopEnds(isPaused: Bool) throws {
        weak var target: Screen?
        weak var link: CADisplayLink?
        do {
            let made = Screen()
            let madeLink = CADisplayLink(target: made, source: source, selector: Screen.step)
            (target, link) = (made, madeLink)
            let worker = try LoopWorker(name: "link") { loop in
                madeLink.isPaused = isPaused
                madeLink.add(to: loop, forMode: .default)
            }
            worker.cancel()
            worker.wait()
        }
        // The thread releases its setup closure a moment later.
        for _ in 0..<2000 where target != nil { Thread.sleep(forTimeInterval: 0.005) }
        #expect(target == nil)
        #expect(link == nil)
    }

    @Test("A link added to a loop that has ended is not retained, and can be added to another loop")
    func addedTooLate() throws {
        weak var target: Screen?
        weak var link: CADisplayLink?
        let worker = try LoopWorker(name: "gone") { _ in }
        worker.wait()
        let loop = RunLoop()
        do {
            let made = Screen()
            let madeLink = CADisplayLink(target: made, source: source, selector: Screen.step)
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

    @Test("A rate too large for an integer reads as the largest integer", arguments: [Double.infinity, 1e300, 9.3e18])
    func hugeRate(_ rate: Double) {
        let link = CADisplayLink(target: Screen(), source: source, selector: Screen.step)
        link.link.preferredFramesPerSecond = rate
        #expect(link.preferredFramesPerSecond == .max)
        link.preferredFramesPerSecond = .max
        #expect(link.preferredFramesPerSecond == .max)
        link.preferredFramesPerSecond = .min
        #expect(link.preferredFramesPerSecond == 0)
    }

    @Test("A method can be given as an action or, in ported code, as a selector; the display is the shared one")
    func selector() {
        let link = CADisplayLink(target: Screen(), selector: Screen.step)
        let loop = RunLoop()
        link.add(to: loop, forMode: .default)
        #expect(link.link.source === VsyncSource.shared)
        link.invalidate()
    }

    @Test("A link's timestamps are 0 before its first call, as on Apple's platforms")
    func timestamps() {
        let loop = RunLoop()
        let link = CADisplayLink(target: Screen(), source: source, selector: Screen.step)
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

    @Test("A range without a preferred rate reads back without one, and a preferred rate of 0 means none")
    func ranges() {
        let link = CADisplayLink(target: Screen(), source: source, selector: Screen.step)
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
