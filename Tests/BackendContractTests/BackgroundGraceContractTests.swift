// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Processes that really get SIGTSTP and stop. A shell sends the signal as Ctrl-Z does, reads /proc until its parent is stopped
/// (T), and continues it. The shell fails if that takes longer than 10 s.
@Suite(.serialized) struct BackgroundGraceContractTests {
    private static let untilStopped = """
        n=0; while [ "$(sed 's/.*) //;s/ .*//' /proc/$PPID/stat)" != T ]; do
            n=$((n + 1)); [ $n -gt 500 ] && { kill -CONT $PPID; exit 9; }; sleep 0.02
        done
        """

    private static func run(_ loop: TimerLoop) {
        loop.run(until: .now.advanced(by: .seconds(30)))
    }

    @Test("After Ctrl-Z the process has its time, then stops, and SIGCONT continues it", .hangLimit)
    func expires() async {
        await #expect(processExitsWith: .success) {
            let loop = TimerLoop()
            let log = Recorder<(word: String, at: MonotonicInstant)>()
            let grace = try BackgroundGrace(duration: .milliseconds(200), loop: loop) { _ in
                log.append(("background", .now))
            } expiration: {
                log.append(("expiration", .now))
            } foreground: { away in
                log.append((away >= .milliseconds(150) ? "foreground" : "back after \(away)", .now))
                loop.stop()
            }
            // The duration runs from the signal, not from the call of `background`, which a busy machine delays.
            let asked = MonotonicInstant.now
            let shell = try #require(
                Shell("kill -TSTP $PPID; \(Self.untilStopped); sleep 0.2; kill -CONT $PPID")
            )
            Self.run(loop)
            #expect(shell.wait() == 0)
            #expect(log.all.map(\.word) == ["background", "expiration", "foreground"])
            let times = log.all.map(\.at)
            #expect(times.count == 3 && asked.duration(to: times[1]) >= .milliseconds(200))
            #expect(times.count == 3 && times[1].duration(to: times[2]) >= .milliseconds(150))
            grace.invalidate()
        }
    }

    @Test("The process stops as soon as its work is finished, every time", .hangLimit)
    func finishes() async {
        await #expect(processExitsWith: .success) {
            let loop = TimerLoop()
            let returns = Recorder<Duration>()
            let grace = try BackgroundGrace(duration: .seconds(1000), loop: loop) { session in
                session.finish()
            } expiration: {
                Issue.record("expired")
            } foreground: { away in
                returns.append(away)
                if returns.count == 2 { loop.stop() }
            }
            let once = "kill -TSTP $PPID; \(Self.untilStopped); kill -CONT $PPID"
            let shell = try #require(Shell("\(once); sleep 0.1; \(once)"))
            Self.run(loop)
            #expect(shell.wait() == 0)
            #expect(returns.count == 2)
            grace.invalidate()
            // The signals are free again.
            let again = try BackgroundGrace(duration: .zero, loop: loop) { _ in }
            #expect(throws: TimerError(operation: "watch signal \(SIGTSTP)", errorNumber: EBUSY)) {
                try BackgroundGrace(duration: .zero, loop: loop) { _ in }
            }
            withExtendedLifetime((grace, again)) {}
        }
    }

    @Test(
        "Ctrl-Z directly after SIGCONT stops the process again",
        // Thread Sanitizer keeps signals back until the next call that it intercepts.
        .disabled(if: isSanitized),
        .hangLimit
    )
    func stopsAgain() async {
        await #expect(processExitsWith: .success) {
            let loop = TimerLoop()
            let stops = Recorder<Duration>()
            let grace = try BackgroundGrace(duration: .seconds(1000), loop: loop) { session in
                session.finish()
            } foreground: { away in
                if away > .zero { stops.append(away) }
                if stops.count == 20 { loop.stop() }
                // Blocks, so that the loop learns of both signals at once.
                usleep(20_000)
            }
            for _ in 0..<64 { Self.startIdleThread() }
            let back = "\(Self.untilStopped); kill -CONT $PPID"
            let again = "; kill -TSTP $PPID; \(back)"
            let shell = try #require(Shell("kill -TSTP $PPID; \(back)" + String(repeating: again, count: 19)))
            Self.run(loop)
            #expect(shell.wait() == 0)
            #expect(stops.count == 20)
            grace.invalidate()
        }
    }

    /// Starts a thread with the lowest priority. The kernel may pick this thread to deliver a signal of the process.
    private static func startIdleThread() {
        var thread = pthread_t()
        pthread_create(
            &thread,
            nil,
            { _ in
                var parameters = sched_param()
                sched_setscheduler(0, 5 /* SCHED_IDLE, sched(7) */, &parameters)
                while true { pause() }
            },
            nil
        )
    }

    /// Blocks the signals in the calling thread, and in the threads that it starts from now on.
    private static func block(_ signals: [Int32]) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private static func isBlocked(_ signal: Int32) -> Bool {
        var set = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &set)
        return sigismember(&set, signal) == 1
    }

    @Test(
        "A process that inherits both signals blocked still gets its time after Ctrl-Z, and its signal masks stay",
        // Thread Sanitizer allows no thread in such a child.
        .disabled(if: isSanitized),
        .hangLimit
    )
    func blocked() async {
        await #expect(processExitsWith: .success) {
            // The child of fork(2) has one thread, with the signal mask that a child of Foundation's `Process` would inherit.
            let words = inChild { say in
                Self.block([SIGTSTP, SIGCONT])
                let loop = TimerLoop()
                for _ in 0..<2 {
                    let grace = try? BackgroundGrace(duration: .seconds(1000), loop: loop) { session in
                        say("background")
                        session.finish()
                    } foreground: { away in
                        say(away >= .milliseconds(150) ? "foreground" : "back after \(away)")
                        loop.stop()
                    }
                    let shell = Shell("kill -TSTP $PPID; \(Self.untilStopped); sleep 0.2; kill -CONT $PPID")
                    loop.run(until: .now.advanced(by: .seconds(8)))
                    say("\(shell?.wait() ?? -1)")
                    grace?.invalidate()
                    say("\(Self.isBlocked(SIGTSTP)) \(Self.isBlocked(SIGCONT))")
                }
                // No thread unblocks the signal any more: it stays pending and stops nothing.
                kill(getpid(), SIGTSTP)
                say("\(Kernel.threads)")
            }
            #expect(
                words == [
                    "background", "foreground", "0", "true true", "background", "foreground", "0", "true true", "1",
                ]
            )
        }
    }
}
