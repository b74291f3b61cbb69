// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import HRTimerCore
import Testing

@testable import bench

// Serialized, because subjects share the processors with everything that runs beside them.
@Suite("Every subject", .serialized, .timeLimit(.minutes(15)))
struct SubjectTests {
    private static let built = Subject.all.map(\.id).filter { id in
        (Subject.hasNIO || !id.hasPrefix("nio.")) && (Subject.hasAsyncAlgorithms || id != "swift.async-timer-sequence")
    }

    @Test("fills a block", arguments: built)
    func fillsABlock(id: String) async throws {
        let subject = try #require(Subject.all.first { $0.id == id })
        let recorder = BlockRecorder(fires: 10, interval_ns: 1_000_000, phase_ns: 12_345)
        // Not on a thread of the cooperative pool, which some subjects need: on a small machine it has two threads.
        let outcome = await withCheckedContinuation { continuation in
            DispatchQueue(label: "subject").async {
                continuation.resume(returning: Result { try onFreshThread { try subject.measure(recorder) } })
            }
        }
        if case .failure(let error) = outcome, error is MissingHardware { return }
        try outcome.get()
        #expect(recorder.fires.count == 10)
        #expect(recorder.timersLeftBehind == 0)
        #expect(recorder.usage.fires == 9)
        let deadlines = recorder.fires.map(\.deadline_ns)
        #expect(zip(deadlines, deadlines.dropFirst()).allSatisfy { $0 < $1 })
        if subject.isGated { #expect(recorder.fires.allSatisfy { $0.lateness_ns >= 0 }) }
    }

    @Test("that asks its timer what it merged has no early fire, and asks only after a fire late by an interval")
    func knowsWhatTheTimerMerged() {
        let recorder = BlockRecorder(fires: 3, interval_ns: 1000, phase_ns: 0)
        recorder.begin(at: 0)
        var answers = [0, 1]
        // The timer read the clock at 900: it merged nothing, and its next call is for 1000.
        recorder.fire(1200, merging: answers.removeFirst())
        recorder.fire(1300, merging: answers.removeFirst())
        // It read the clock at 3100, and merged the deadline 3000 into the call for 2000.
        recorder.fire(3200, merging: answers.removeFirst())
        #expect(answers.isEmpty)
        #expect(recorder.fires.map(\.deadline_ns) == [0, 1000, 2000])
        #expect(recorder.fires.map(\.lateness_ns) == [1200, 300, 1200])
        #expect(recorder.nextDeadline_ns == 4000)
    }

    @Test("of SwiftNIO says how to build it in if it is not built in", .enabled(if: !Subject.hasNIO))
    func saysHowToBuildNIO() throws {
        let nio = Subject.all.filter { $0.id.hasPrefix("nio.") }
        #expect(nio.count == 2)
        for subject in nio {
            let error = #expect(throws: BenchError.self) {
                try subject.measure(BlockRecorder(fires: 1, interval_ns: 1_000_000, phase_ns: 0))
            }
            #expect(error?.description.contains("--traits NIO") == true)
        }
    }

    @Test(
        "of swift-async-algorithms says how to build it in if it is not built in",
        .enabled(if: !Subject.hasAsyncAlgorithms)
    )
    func saysHowToBuildAsyncAlgorithms() throws {
        let sequence = try #require(Subject.all.first { $0.id == "swift.async-timer-sequence" })
        let error = #expect(throws: BenchError.self) {
            try sequence.measure(BlockRecorder(fires: 1, interval_ns: 1_000_000, phase_ns: 0))
        }
        #expect(error?.description.contains("--traits AsyncAlgorithms") == true)
    }

    @Test("has a unique id that names its group")
    func hasAnIDOfItsOwn() {
        #expect(Set(Subject.all.map(\.id)).count == Subject.all.count)
        for subject in Subject.all {
            #expect(subject.id.contains("."))
            #expect(!subject.explanation.isEmpty)
        }
    }

    @Test("is found by its id and by globs")
    func isFoundByGlobs() throws {
        let reference = try #require(Subject.all.first { $0.id == Subject.referenceID })
        #expect(reference.id.matches("kernel.clock-nanosleep-abs"))
        #expect(reference.id.matches("kernel.*"))
        #expect(reference.id.matches("*.clock-*"))
        #expect(!reference.id.matches("kernel"))
        #expect(!reference.id.matches("dispatch.*"))
    }
}

@Suite("A block")
struct BlockTests {
    @Test("measures a late fire from the earliest open deadline, and counts those it passed as missed")
    func countsMissedDeadlines() {
        let recorder = BlockRecorder(fires: 3, interval_ns: 100, phase_ns: 0)
        let first = recorder.begin()
        recorder.fire(first + 5)
        recorder.fire(first + 350)
        recorder.fire(first + 401)
        #expect(recorder.fires.map { $0.deadline_ns - first } == [0, 100, 400])
        #expect(recorder.fires.map(\.lateness_ns) == [5, 250, 1])
        #expect(result(of: recorder).missed == 2)
    }

    @Test("believes a timer that says how many deadlines a fire stands for")
    func believesTheTimersOwnCount() {
        let recorder = BlockRecorder(fires: 3, interval_ns: 100, phase_ns: 0)
        let first = recorder.begin()
        recorder.fire(first + 199, for: 1)
        recorder.fire(first + 220, for: 2)
        recorder.fire(first + 310, for: 1)
        #expect(recorder.fires.map { $0.deadline_ns - first } == [0, 100, 300])
        #expect(result(of: recorder).missed == 1)
    }

    @Test("keeps early fires as they are")
    func keepsEarlyFires() {
        let recorder = BlockRecorder(fires: 2, interval_ns: 100, phase_ns: 0)
        let first = recorder.begin()
        recorder.fire(first - 30)
        recorder.fire(first + 100)
        #expect(recorder.fires.map(\.lateness_ns) == [-30, 0])
        #expect(result(of: recorder).early == 1)
        #expect(result(of: recorder).missed == 0)
    }

    @Test("leaves out the fires that come while its subject is learning, and keeps the grid")
    func discardsFirst() throws {
        let recorder = BlockRecorder(fires: 2, interval_ns: 100, phase_ns: 0, settling: 3)
        let first = recorder.begin()
        for tick in [0, 1, 3, 4, 5] as [Int64] { recorder.fire(first + tick * 100 + 7, for: tick == 1 ? 2 : 1) }
        #expect(recorder.fires.map { $0.deadline_ns - first } == [400, 500])
        #expect(recorder.fires.map(\.lateness_ns) == [7, 7])
        #expect(recorder.usage.fires == 1)
        try recorder.waitUntilFull()
    }

    @Test("also counts the deadlines that its last fire passed as missed")
    func countsMissedAtTheEnd() {
        let recorder = BlockRecorder(fires: 2, interval_ns: 100, phase_ns: 0)
        let first = recorder.begin()
        recorder.fire(first + 5)
        recorder.fire(first + 330)
        let block = result(of: recorder)
        #expect(block.missed == 2)
        // Deadlines 200 and 300, which the fire for 100 passed.
        #expect(block.missedLatenesses_ns == [130, 30])
    }

    @Test("measures each deadline without a fire up to the fire that passed it")
    func hasIntendedTimes() {
        let recorder = BlockRecorder(fires: 3, interval_ns: 100, phase_ns: 0)
        let first = recorder.begin()
        recorder.fire(first)
        recorder.fire(first + 350)
        recorder.fire(first + 400)
        let subject = Subject("kernel.test", "nothing") { _ in }
        let total = SubjectResult(subject, interval_ns: 100)
        total.add(result(of: recorder), fires: recorder.fires)
        #expect(total.lateness.count == 3)
        #expect(total.intended.count == 5)
        #expect(total.lateness.max_ns == 250)
        // 0, 0, and the deadlines that waited for the fire at 350: 250, 150, 50. Their median is above that of the fires.
        #expect(total.intended.buckets_ns.map(\.low_ns) == [0, 50, 150, 250])
    }

    @Test("counts as full when it exceeds its time limit")
    func endsInTime() throws {
        let recorder = BlockRecorder(fires: 10, interval_ns: 100, phase_ns: 0, patience_ns: 500)
        let first = recorder.begin()
        #expect(recorder.fire(first))
        #expect(recorder.fire(first + 1499))
        #expect(!recorder.fire(first + 1500))
        #expect(recorder.fires.count == 3)
        try recorder.waitUntilFull()
    }

    @Test("accepts no fire once it is full")
    func takesNoMoreThanItsRoom() throws {
        let recorder = BlockRecorder(fires: 1, interval_ns: 100, phase_ns: 0)
        let first = recorder.begin()
        #expect(!recorder.fire(first))
        #expect(!recorder.fire(first + 100))
        #expect(recorder.fires.count == 1)
        try recorder.waitUntilFull()
    }

    @Test("measures the drift of a timer that leaves its grid")
    func measuresDrift() throws {
        let recorder = BlockRecorder(fires: 100, interval_ns: 1_000_000, phase_ns: 0)
        let first = recorder.begin()
        // 0.1 % too slow: 1 µs more at each tick.
        for tick in 0..<100 { recorder.fire(first + Int64(tick) * 1_001_000) }
        let drift = try #require(result(of: recorder).drift_ppm)
        #expect(abs(drift - 1000) < 0.01)
    }

    private func result(of recorder: BlockRecorder) -> BlockResult {
        BlockResult(
            round: 0,
            fires: recorder.fires,
            interval_ns: recorder.interval_ns,
            next_ns: recorder.nextDeadline_ns,
            usage: recorder.usage,
            disturbance: Disturbance()
        )
    }
}
