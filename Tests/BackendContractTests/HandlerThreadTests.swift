// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Foundation
import HRTimer
import TestSupport
import TestTraits
import Testing

/// What code in a handler finds on its thread, and what it passes on to what it starts. Programs of their own make the
/// threads from a main thread whose signal mask is known: tests run on libdispatch's threads, which block most signals.
@Suite(.serialized, .ownThread, .hangLimit) struct HandlerThreadTests {
    /// Runs the program's part with Swift's backtracer. Returns all that it writes.
    private static func crash(_ part: String) throws -> String {
        try Program.run(
            "MainThreadProgram",
            "handlers",
            part,
            environment: [
                "SWIFT_BACKTRACE": "enable=yes,output-to=stdout,interactive=no,color=no,symbolicate=fast"
            ],
            includingErrors: true
        )
    }

    /// Whether a crash on a thread of Foundation's is reported: that takes Swift's backtracer, and the right to trace.
    private static let hasBacktraces = !isSanitized && (try? crash("thread"))?.contains("Program crashed") == true

    @Test(
        "A crash in a handler is reported with a stack, as Swift reports one on a Foundation Thread",
        .enabled(if: hasBacktraces, "takes swift-backtrace and ptrace(2)"),
        arguments: ["engine-futex-normal", "source", "loop", "executor"]
    )
    func crashInHandler(_ place: String) throws {
        let report = try Self.crash(place)
        #expect(report.contains("Program crashed"))
        #expect(report.contains("failInHandler"))
    }

    @Test(
        "A crash elsewhere is reported with all threads: none of ours refuses to be stopped",
        .enabled(if: hasBacktraces, "takes swift-backtrace and ptrace(2)")
    )
    func crashBesideHandlers() throws {
        let report = try Self.crash("crash-beside")
        #expect(report.contains("Program crashed"))
        #expect(!report.contains("failed to suspend"))
    }

    /// The signals that the calling thread blocks, without those that the C library keeps to itself.
    private static func blockedSignals() -> [Int32] {
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        return (1...31).filter { sigismember(&mask, $0) == 1 }
    }

    @Test("Threads of engines and loops block the signals that their maker blocks, and no others")
    func blocksNoOthers() async throws {
        let (engine, loop) = try withBlocked([SIGUSR1, SIGWINCH]) { (try TimerEngine(), try TimerLoop.thread()) }
        let ofEngine = await withCheckedContinuation { continuation in
            engine.schedule(at: .now) { _ in continuation.resume(returning: Self.blockedSignals()) }
        }
        let ofLoop = await withCheckedContinuation { continuation in
            loop.loop.perform { continuation.resume(returning: Self.blockedSignals()) }
        }
        #expect(ofEngine == [SIGUSR1, SIGWINCH])
        #expect(ofLoop == [SIGUSR1, SIGWINCH])
        await engine.shutdown()
        await loop.shutdown()
    }

    /// Calls `body` while the calling thread blocks these signals alone.
    private func withBlocked<Result>(_ signals: [Int32], _ body: () throws -> Result) rethrows -> Result {
        var (mask, former) = (sigset_t(), sigset_t())
        sigemptyset(&mask)
        for signal in signals { sigaddset(&mask, signal) }
        pthread_sigmask(SIG_SETMASK, &mask, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        return try body()
    }

    @Test(
        "Handlers of each kind of thread find what they need on it, and so do children and threads that they start",
        arguments: [
            ("masks", "those signals are blocked that the thread's maker blocks"),
            ("children", "a child of posix_spawn and one of Foundation's Process end by SIGTERM"),
            ("signals", "SIGPROF arrives, interrupts waits, and no fire is early or lost for it"),
            ("pinned", "threads that we start from a pinned handler have the main thread's processors and slack"),
        ]
    )
    func everywhere(_ question: String, _ answer: String) throws {
        #expect(try Program.run("MainThreadProgram", "handlers", question) == "all", "\(answer)")
    }

    @Test(
        "A child that a pinned handler forks has the processors and the timer slack that its thread began with, as a task has",
        // A sanitizer does not bear fork(2) beside working threads.
        .disabled(if: isSanitized)
    )
    func fork() async {
        await #expect(processExitsWith: .success) {
            let before = cbench_affinity()
            let slack_ns = hrt_thread_timer_slack_ns()
            let last = (0..<64).last { before >> UInt64($0) & 1 == 1 }!
            var configuration = TimerEngine.Configuration()
            configuration.realTime.processors = [last]
            let engine = try TimerEngine(configuration)
            let words = await withCheckedContinuation { continuation in
                engine.schedule(at: .now) { _ in
                    let pinned = { "\(cbench_affinity() == 1 << UInt64(last)) \(hrt_thread_timer_slack_ns())" }
                    let before = pinned()
                    let inChild = inChild { say in say("\(cbench_affinity()) \(hrt_thread_timer_slack_ns())") }
                    continuation.resume(returning: [before] + inChild + [pinned()])
                }
            }
            #expect(words == ["true 1", "\(before) \(slack_ns)", "true 1"])
            await engine.shutdown()
        }
    }
}
