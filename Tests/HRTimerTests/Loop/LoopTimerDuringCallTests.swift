// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// What becomes of a timer's handler while a call of it is under way. The loop only lends it to the call: what takes the timer
/// out of the loop meanwhile must keep it alive. In manual time.
@Suite struct LoopTimerDuringCallTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let canaries = Canaries()
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func seconds(_ seconds: Int) -> MonotonicInstant { start.advanced(by: .seconds(seconds)) }

    /// Returns a timer of every second whose handler captures a canary, calls `body`, and notes how many canaries live then.
    private func timer(
        repeats: Bool = true,
        _ precision: TimerPrecision? = nil,
        _ body: @escaping @Sendable (LoopTimer) -> Void
    ) -> LoopTimer {
        let canary = canaries.make()
        let timer = LoopTimer(fireAt: seconds(1), interval: .seconds(1), repeats: repeats) { [canaries, log] timer in
            body(timer)
            log.append("\(canaries.count) alive")
            withExtendedLifetime(canary) {}
        }
        timer.precision = precision
        loop.add(timer, forMode: .default)
        return timer
    }

    enum Change: CaseIterable {
        case invalidate, removeThenInvalidate, moveThenInvalidate, endLoop, endLoopThenInvalidate, fire
    }

    @Test(
        "A handler that ends its own timer is alive until it has returned, and is freed then",
        arguments: Change.allCases,
        [nil, TimerPrecision.precise]
    )
    func endedInHandler(_ change: Change, _ precision: TimerPrecision?) {
        let other = TimerLoop(time: time.base)
        let isNested = Recorder<Bool>()
        let timer = timer(repeats: change != .fire, precision) { [loop] timer in
            if isNested.count > 0 { return }
            switch change {
            case .invalidate: break
            case .removeThenInvalidate: loop.remove(timer, forMode: .default)
            case .moveThenInvalidate:
                loop.remove(timer, forMode: .default)
                other.add(timer, forMode: .default)
                other.remove(timer, forMode: .default)
                other.add(timer, forMode: .default)
            case .endLoop, .endLoopThenInvalidate: loop.end()
            case .fire:
                isNested.append(true)
                timer.fire()
            }
            if change != .endLoop, change != .fire { timer.invalidate() }
        }
        loop.run(until: seconds(3))
        #expect(log.all == Array(repeating: "1 alive", count: change == .fire ? 2 : 1))
        #expect(canaries.count == 0)
        #expect(!timer.isValid)
    }

    @Test("A handler that moves its timer to another loop is called there, and is freed when the timer ends")
    func moved() {
        let other = TimerLoop(time: time.base)
        let timer = timer { [loop, log] timer in
            if log.count > 0 { return }
            loop.remove(timer, forMode: .default)
            other.add(timer, forMode: .default)
        }
        loop.run(until: seconds(1))
        #expect(canaries.count == 1)
        other.run(until: seconds(3))
        #expect(log.all == ["1 alive", "1 alive", "1 alive"])
        timer.invalidate()
        #expect(canaries.count == 0)
    }

    @Test(
        "A handler whose timer another thread ends while it runs is freed when it has returned, before who waits for that goes on",
        arguments: [false, true]
    )
    func endedByThread(isRemovedFirst: Bool) async throws {
        let (begun, ended, waited) = (Latch(), Latch(), Latch())
        let timer = timer { _ in
            begun.open()
            ended.wait()
        }
        // Threads of their own: one that has a loop, as any thread of Dispatch may, would not wait.
        pthread_detach(
            try startThread { [loop, log, canaries] in
                begun.wait()
                if isRemovedFirst { loop.remove(timer, forMode: .default) }
                timer.invalidate()
                log.append("\(canaries.count) alive")
                ended.open()
                timer.invalidateAndWait()
                log.append("\(canaries.count) alive")
                waited.open()
            }
        )
        pthread_detach(try startThread { [loop, until = seconds(3)] in loop.run(until: until) })
        await waited.opened()
        #expect(canaries.count == 0)
        #expect(log.all == ["1 alive", "1 alive", "0 alive"])
    }

    @Test("A handler that is called a hundred times is the same one: nothing of it is freed before the timer ends")
    func calledAgain() {
        let timer = timer { _ in }
        loop.run(until: seconds(100))
        #expect(log.all == Array(repeating: "1 alive", count: 100))
        timer.invalidate()
        #expect(canaries.count == 0)
    }

    @Test("A handler that fires its own timer, as another thread may, is called and freed as often as it is retained")
    func firedInHandler() {
        let isNested = Recorder<Bool>()
        let timer = timer { timer in
            if isNested.count % 2 == 0 {
                isNested.append(true)
                timer.fire()
                isNested.append(false)
            }
        }
        loop.run(until: seconds(3))
        #expect(log.all == Array(repeating: "1 alive", count: 6))
        timer.invalidate()
        #expect(canaries.count == 0)
    }
}
