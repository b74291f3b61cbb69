// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Foundation
import HRTimerCore
import TestSupport
import TestTraits
import Testing

/// Clocks that tick once a millisecond, as in some containers. A program of its own reads the clocks through a preloaded
/// library of ours, Tests/CoarseClock. The kernel's own timers stay as they are.
@Suite(.serialized, .ownThread, .disabled(if: isSanitized), .hangLimit) struct CoarseClockTests {
    /// The path of that library, which is built once. Nil where there is no compiler.
    private static let library: String? = {
        let source = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../CoarseClock/coarse_clock.c"
        )
        let library = FileManager.default.temporaryDirectory.appending(path: "coarse_clock.\(getpid()).so").path
        for compiler in ["clang", "cc", "gcc"] {
            let status = Shell.run("\(compiler) -O2 -shared -fPIC '\(source.path)' -o '\(library)' -ldl 2> /dev/null")
            if status == 0 { return library }
        }
        return nil
    }()

    private struct Outcome {
        let calls, wakeups, cpu_us, early, warnings: Int
        let spun_us: Double
    }

    private func run(_ face: String, _ precision: String, _ clock: [String: String]) throws -> Outcome {
        let library = try #require(Self.library)
        let said = try Program.run(
            "MainThreadProgram",
            "coarse-clock",
            face,
            precision,
            environment: clock.merging(["LD_PRELOAD": library]) { $1 }
        )
        let words = said.split(separator: " ")
        try #require(words.count == 6, "\(said)")
        return Outcome(
            calls: try #require(Int(words[0])),
            wakeups: try #require(Int(words[1])),
            cpu_us: try #require(Int(words[3])),
            early: try #require(Int(words[4])),
            warnings: try #require(Int(words[5])),
            spun_us: try #require(Double(words[2]))
        )
    }

    @Test(
        "A 1 ms timer wakes once or twice a tick, never spins and is never early; .precise warns once of its limit",
        arguments: ["futex", "timerfd", "loop", "loop-with-source", "served-loop"],
        TimerPrecision.allCases
    )
    func wakeups(_ face: String, _ precision: TimerPrecision) throws {
        for clock in [[:], ["COARSE_CLOCK_PHASE_NS": "300000"], ["COARSE_CLOCK_DRIFT_NS": "3000"]] {
            let outcome = try run(face, "\(precision)", clock)
            // The program runs for 300 ms; on a loaded machine some ticks are missed.
            #expect(outcome.calls > 20 && outcome.early == 0)
            #expect(outcome.wakeups <= 2 * 300 + 50, "\(face) \(precision) \(clock): \(outcome)")
            #expect(outcome.spun_us == 0)
            #expect(outcome.cpu_us < 150_000, "\(face) \(precision) \(clock): \(outcome)")
            // A host waits for a loop's descriptor as for any other, not precisely, so that there is nothing to warn of.
            let isReported = precision == .precise && face != "served-loop" && UsageWarning.isLookedFor
            #expect(outcome.warnings == (isReported ? 1 : 0))
        }
    }

    @Test("Where ticks are further apart than the clock's resolution says, a bare wait still lasts until its deadline")
    func unevenTicks() throws {
        let outcome = try run("wait", "normal", ["COARSE_CLOCK_DRIFT_NS": "70000"])
        #expect(outcome.calls == 60 && outcome.early == 0)
    }

    @Test("Where only the kernel's timers are coarse and the clock's readings are fine, .precise works as elsewhere")
    func fineReadings() throws {
        let outcome = try run("futex", "precise", ["COARSE_CLOCK_IS_FINE": "1"])
        #expect(outcome.warnings == 0 && outcome.early == 0)
        #expect(outcome.spun_us > 0)
    }
}
