// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation
import HRTimerCore
import Testing

@testable import bench

@Suite("The explanation of late fires", .serialized) struct WhyTests {
    private func fire(late_us: Int64, delay_us: Int64 = 0, before_us: Int64 = -900) -> cbench_why_fire {
        var fire = cbench_why_fire()
        (fire.deadline_ns, fire.woke_ns) = (10_000_000, 10_000_000 + late_us * 1000)
        fire.before_ns = 10_000_000 + before_us * 1000
        fire.after.run_delay_ns = delay_us * 1000
        fire.after.voluntary_switches = 1
        return fire
    }

    @Test("covers the fires above the 95th percentile")
    func tail() {
        let fires = (1...100).map { fire(late_us: Int64($0)) }
        let tail = WhyTail(fires)
        #expect(tail.fires == 100)
        #expect(tail.late == 4)
        #expect(tail.bound_ns == 96_000)
        let wakeup_ns: Int64 = 97_000 + 98_000 + 99_000 + 100_000
        #expect(tail.parts_ns == [.wakeup: wakeup_ns])
        #expect(WhyTail([]).late == 0)
    }

    @Test("is split by the kernel's counts since the previous fire, and by the end of that fire")
    func split() {
        let waited = WhyTail([fire(late_us: 500, delay_us: 300)])
        #expect(waited.parts_ns == [.runQueue: 300_000, .wakeup: 200_000])
        let busy = WhyTail([fire(late_us: 500, before_us: 400)])
        #expect(busy.parts_ns == [.handlerBefore: 400_000, .wakeup: 100_000])
        var first = fire(late_us: 500)
        first.before_ns = -1
        #expect(WhyTail([first]).parts_ns[.unexplained] == 480_000)
    }

    @Test("is a table with a column for each cause that occurs")
    func table() {
        let tail = WhyTail([fire(late_us: 500, delay_us: 300)])
        let text = whyText([("kernel.x", tail)])
        #expect(text.contains("runQueue") && text.contains("60") && text.contains("40"))
        #expect(!text.contains("pageFault"))
    }

    @Test("is in the result's file, as shares that add up to one")
    func json() throws {
        let subject = try #require(Subject.all.first { $0.id == "kernel.clock-nanosleep-abs" })
        let plan = Plan(subjects: [subject], interval: .milliseconds(1), blocks: 2, block_ns: 30_000_000, seed: 1)
        let why = WhyRun(explains: true)
        let session = Session(plan, why: why)
        session.run(Progress(.hidden))
        let text = JSONReport(sessions: [session], host: .now(), command: []).text
        let file = try JSONDecoder().decode(WhyFile.self, from: Data(text.utf8))
        let found = try #require(file.results[0].why)
        #expect(found.late > 0)
        #expect(found.beyond_ns > 0)
        // Each share is rounded to a thousandth by itself.
        let rounding = 0.0005 * Double(found.share_by_cause.count) + 1e-9
        #expect(abs(found.share_by_cause.values.reduce(0, +) - 1) <= rounding)
        #expect(found.share_by_cause.keys.allSatisfy { LatenessCause(rawValue: $0) != nil })
    }

    @Test("records the fires of any block, on whatever thread, but only if requested")
    func notes() throws {
        let subject = try #require(Subject.all.first { $0.id == "kernel.clock-nanosleep-abs" })
        // Fires of other tests that measure meanwhile are recorded too.
        let capacity = 20_000
        let room = UnsafeMutablePointer<cbench_why_fire>.allocate(capacity: capacity)
        // Not freed: a thread of another test may still be writing.
        for isAsked in [true, false] {
            if isAsked { cbench_why_start(room, capacity) }
            let recorder = BlockRecorder(fires: 20, interval_ns: 1_000_000, phase_ns: 0)
            try onFreshThread { try subject.measure(recorder) }
            guard isAsked else { continue }
            let count = cbench_why_stop()
            let deadlines = Set(recorder.fires.map(\.deadline_ns))
            let noted = (0..<count).map { room[$0] }.filter { deadlines.contains($0.deadline_ns) }
            #expect(noted.map(\.deadline_ns) == recorder.fires.map(\.deadline_ns))
            #expect(noted.first?.before_ns == -1)
            for (former, fire) in zip(noted, noted.dropFirst()) {
                #expect(fire.before_ns > former.woke_ns)
                #expect(fire.after.voluntary_switches >= fire.before.voluntary_switches)
            }
            // A fire whose deadline has passed, because other work took the time, does not sleep.
            #expect(noted.dropFirst().contains { $0.after.voluntary_switches > $0.before.voluntary_switches })
        }
    }
}

private struct WhyFile: Decodable {
    struct Row: Decodable { let why: Why? }
    struct Why: Decodable {
        let late: Int
        let beyond_ns: Int64
        let share_by_cause: [String: Double]
    }
    let results: [Row]
}
