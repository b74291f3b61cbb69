// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTraits
import Testing

#if !PEERS
import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer
#endif

/// What apps do with timers besides starting them. PeersTests compiles this file without the imports of HRTimerCompat.
@Suite(.serialized, .ownThread) private struct LivesOfAnAppTests {
    /// A stopwatch with the usual guard against being started twice.
    private final class Stopwatch: @unchecked Sendable {
        // Sendable: only one thread uses it.
        private var timer: Timer?
        let ticks = Recorder<Int>()

        func start() {
            guard timer == nil else { return }
            timer = Timer.scheduledTimer(withTimeInterval: 0.01, repeats: true) { [ticks] _ in ticks.append(1) }
        }

        func stop() {
            timer?.invalidate()
            timer = nil
        }
    }

    @Test("Pressing start three times makes one timer, and one stop ends it")
    func startOnce() {
        let stopwatch = Stopwatch()
        let start = Date()
        for _ in 1...3 { stopwatch.start() }
        RunLoop.current.run(until: start.addingTimeInterval(0.1))
        stopwatch.stop()
        let count = stopwatch.ticks.count
        #expect(count >= 1)
        #expect(Double(count) <= Date().timeIntervalSince(start) / 0.01 + 1)
        RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.03))
        #expect(stopwatch.ticks.count == count)
    }

    @Test("A carousel that is paused for a drag turns no page during it, and the next one only some time after")
    func carousel() {
        let tracking = RunLoop.Mode("NSEventTrackingRunLoopMode")
        let pages = Recorder<Date>()
        let carousel = Timer(timeInterval: 0.01, repeats: true) { _ in pages.append(Date()) }
        RunLoop.current.add(carousel, forMode: .default)
        RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.035))
        let before = pages.count
        #expect(before >= 1)

        let moves = Recorder<Int>()
        let mouse = Timer(timeInterval: 0.01, repeats: true) { _ in moves.append(1) }
        RunLoop.current.add(mouse, forMode: tracking)
        carousel.fireDate = .distantFuture
        let up = Date(timeIntervalSinceNow: 0.05)
        while Date() < up, RunLoop.current.run(mode: tracking, before: up) {}
        mouse.invalidate()
        #expect(moves.count >= 1)
        #expect(pages.count == before)

        let resume = Date(timeIntervalSinceNow: 0.03)
        carousel.fireDate = resume
        RunLoop.current.run(until: resume.addingTimeInterval(0.1))
        carousel.invalidate()
        #expect(pages.count > before)
        #expect(pages.all.dropFirst(before).allSatisfy { $0 >= resume.addingTimeInterval(-0.000_001) })
    }

    @Test("A timer of the default mode that falls due during a drag fires after the drag")
    func draggedOver() {
        let tracking = RunLoop.Mode("NSEventTrackingRunLoopMode")
        let fired = Recorder<Date>()
        let late = Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in fired.append(Date()) }
        let mouse = Timer(timeInterval: 0.01, repeats: true) { _ in }
        RunLoop.current.add(mouse, forMode: tracking)
        let up = Date(timeIntervalSinceNow: 0.04)
        while Date() < up, RunLoop.current.run(mode: tracking, before: up) {}
        mouse.invalidate()
        #expect(fired.count == 0)
        #expect(late.isValid)
        _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 1))
        #expect(fired.count == 1)
        #expect(!late.isValid)
    }

    @Test("A worker thread ends when its last timer is invalidated")
    func worker() {
        let polls = Recorder<Int>()
        let ends = Recorder<Int>()
        let thread = Thread {
            let timer = Timer(timeInterval: 0.005, repeats: true) { timer in
                polls.append(1)
                if polls.count == 5 { timer.invalidate() }
            }
            RunLoop.current.add(timer, forMode: .default)
            RunLoop.current.run()
            ends.append(polls.count)
        }
        thread.start()
        for _ in 0..<2000 where ends.count == 0 { Thread.sleep(forTimeInterval: 0.005) }
        #expect(ends.all == [5])
    }

    @Test("A timer whose handler blocks for several periods does not catch up, and continues on its grid")
    func blocked() {
        let calls = Recorder<Date>()
        let timer = Timer(timeInterval: 0.02, repeats: true) { timer in
            calls.append(Date())
            if calls.count == 1 { Thread.sleep(forTimeInterval: 0.11) }
            if calls.count == 3 { timer.invalidate() }
        }
        RunLoop.current.add(timer, forMode: .default)
        let start = timer.fireDate
        RunLoop.current.run(until: Date(timeIntervalSinceNow: 5))
        let all = calls.all
        #expect(all.count == 3)
        // The first grid points after the 110 ms are at 120 and 140 ms: the timer made no call for any of the five missed ones.
        #expect(all.last!.timeIntervalSince(start) >= 0.14 - 0.000_001)
    }

    @Test("A timer that its handler moves fires next at the new date")
    func backsOff() {
        let calls = Recorder<Date>()
        let timer = Timer(timeInterval: 0.005, repeats: true) { timer in
            calls.append(Date())
            if calls.count == 3 { timer.invalidate() }
            timer.fireDate = Date(timeIntervalSinceNow: 0.02)
        }
        RunLoop.current.add(timer, forMode: .default)
        RunLoop.current.run(until: Date(timeIntervalSinceNow: 5))
        let pauses = zip(calls.all, calls.all.dropFirst()).map { $1.timeIntervalSince($0) }
        #expect(pauses.count == 2)
        #expect(pauses.allSatisfy { $0 >= 0.02 - 0.000_001 })
    }
}
