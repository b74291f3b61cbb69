// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// The settings that threads of loops request from the kernel, on real threads.
@Suite(.hangLimit) struct LoopThreadSettingsTests {
    private var settings: RealTimeSettings {
        var settings = RealTimeSettings()
        settings.timerSlack = .microseconds(7)
        settings.timeSlice = nil
        // No machine has so many processors.
        settings.processors = [100_000]
        return settings
    }

    private func slack_ns() -> Int { Int(hrt_thread_timer_slack_ns()) }

    @Test("A loop's thread requests its settings, reports the results, and runs even if one is refused")
    func thread() async throws {
        let thread = try TimerLoop.thread(name: "granted", precision: .precise, realTime: settings)
        let settingResults = await thread.awaitSettingResults()
        #expect(settingResults.map(\.setting) == [.threadName, .timerSlack, .processors])
        #expect(settingResults.map(\.isGranted) == [true, true, false])
        #expect(thread.loop.precision == .precise)
        let slack = await withCheckedContinuation { continuation in
            thread.loop.perform { [self] in continuation.resume(returning: slack_ns()) }
        }
        #expect(slack == 7000)
        await thread.shutdown()
    }

    @Test("A worker requests its settings and reports the results; without settings there are no results")
    func worker() async throws {
        let slacks = Recorder<Int>()
        let worker = try LoopWorker(name: "granted", precision: .normal, realTime: settings) { [self] loop in
            slacks.append(slack_ns())
            loop.perform(afterDelay: 0.001) {}
        }
        #expect(await worker.awaitSettingResults().map(\.isGranted) == [true, true, false])
        await worker.wait()
        #expect(slacks.all == [7000])
        #expect(worker.loop.precision == .normal)

        let plain = try TimerLoop.thread(name: "plain")
        #expect(await plain.awaitSettingResults().isEmpty)
        await plain.shutdown()
    }
}
