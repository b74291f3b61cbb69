// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// The rules in manual time, with a stop that only moves the clock. `BackgroundGraceContractTests` has real stops.
@Suite struct BackgroundGraceTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    /// The events, each with its time in ms since the start.
    let log = Recorder<String>()
    let sessions = Recorder<BackgroundGrace.Session>()

    init() {
        loop = TimerLoop(time: time.base)
        loop.isKeptAlive = true
        start = time.now
    }

    private func at(_ ms: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(ms)) }

    private func makeGrace(_ duration: Duration = .seconds(5)) -> BackgroundGrace {
        let note: @Sendable (String) -> Void = { [log, time, start] text in
            log.append("\(text) \((time.now.nanoseconds - start.nanoseconds) / 1_000_000)")
        }
        let core = BackgroundGrace.Core(
            duration: duration,
            loop: loop,
            stop: { [time] in
                note("stop")
                time.advance(by: .seconds(60))
                return .seconds(60)
            },
            background: { [sessions] session in
                note("background")
                sessions.append(session)
            },
            expiration: { note("expiration") },
            foreground: { note("foreground(\($0.components.seconds) s)") }
        )
        return BackgroundGrace(core, [])
    }

    @Test("A session that finishes in time stops the process then, and nothing expires")
    func finish() throws {
        let grace = makeGrace()
        loop.run(until: at(1000))
        grace.core.suspend()
        let session = try #require(sessions.all.first)
        #expect(session.remaining == .seconds(5))
        loop.run(until: at(3000))
        #expect(session.remaining == .seconds(3))
        session.finish()
        session.finish()
        #expect(log.all == ["background 1000"])
        loop.run(until: at(100_000))
        #expect(log.all == ["background 1000", "stop 3000", "foreground(60 s) 63000"])
        #expect(session.remaining == .zero)
        session.finish()
        loop.run(until: at(200_000))
        #expect(log.count == 3)
        #expect(loop.liveTimers == 0)
    }

    @Test("The expiration handler runs when the grace time is over, then the process stops", arguments: [5000, 0, -1])
    func expire(_ duration: Int) {
        let grace = makeGrace(.milliseconds(duration))
        grace.core.suspend()
        loop.run(until: at(10_000))
        let over = max(0, duration)
        #expect(log.all == ["background 0", "expiration \(over)", "stop \(over)", "foreground(60 s) \(over + 60_000)"])
    }

    @Test("A second SIGTSTP ends the grace time at once")
    func impatient() {
        let grace = makeGrace()
        grace.core.suspend()
        loop.run(until: at(1000))
        grace.core.suspend()
        loop.run(until: at(2000))
        #expect(log.all == ["background 0", "expiration 1000", "stop 1000", "foreground(60 s) 61000"])
        #expect(loop.liveTimers == 0)
    }

    @Test("SIGCONT during the grace time keeps the process running, and a stale session cannot stop it")
    func continued() throws {
        let grace = makeGrace()
        grace.core.resume()
        grace.core.suspend()
        loop.run(until: at(1000))
        grace.core.resume()
        try #require(sessions.all.first).finish()
        loop.run(until: at(20_000))
        #expect(log.all == ["background 0", "foreground(0 s) 1000"])
        grace.core.suspend()
        try #require(sessions.all.first).finish()
        loop.run(until: at(21_000))
        #expect(log.all.suffix(1) == ["background 20000"])
        #expect(sessions.all.map(\.remaining) == [.zero, .seconds(4)])
    }

    @Test("A released grace forgets its session, and the process is not stopped")
    func invalidated() throws {
        do {
            let grace = makeGrace()
            grace.core.suspend()
        }
        try #require(sessions.all.first).finish()
        loop.run(until: at(20_000))
        #expect(log.all == ["background 0"])
        #expect(loop.liveTimers == 0)
    }
}
