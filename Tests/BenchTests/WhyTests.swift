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

    @Test("covers the fires above the 95th percentile, or above a bound")
    func tail() {
        let fires = (1...100).map { fire(late_us: Int64($0)) }
        let tail = WhyTail(fires, beyond: nil)
        #expect(tail.fires == 100)
        #expect(tail.late == 4)
        #expect(tail.bound_ns == 96_000)
        let wakeup_ns: Int64 = 97_000 + 98_000 + 99_000 + 100_000
        #expect(tail.parts_ns == [.wakeup: wakeup_ns])
        #expect(WhyTail(fires, beyond: 89_000).late == 11)
        #expect(WhyTail([], beyond: nil).late == 0)
    }

    @Test("is split by the kernel's counts since the previous fire, and by the end of that fire")
    func split() {
        let waited = WhyTail([fire(late_us: 500, delay_us: 300)], beyond: 0)
        #expect(waited.parts_ns == [.runQueue: 300_000, .wakeup: 200_000])
        let busy = WhyTail([fire(late_us: 500, before_us: 400)], beyond: 0)
        #expect(busy.parts_ns == [.handlerBefore: 400_000, .wakeup: 100_000])
        var first = fire(late_us: 500)
        first.before_ns = -1
        #expect(WhyTail([first], beyond: 0).parts_ns[.unexplained] == 480_000)
    }

    @Test("is a table with a column for each cause that occurs, and says what is lacking")
    func table() {
        let tail = WhyTail([fire(late_us: 500, delay_us: 300)], beyond: 0)
        let text = WhyText(tails: [("kernel.x", tail)], bound_ns: 0, lacks: "no tracefs").text
        #expect(text.contains("runQueue") && text.contains("60") && text.contains("40"))
        #expect(!text.contains("pageFault"))
        #expect(text.contains("not named: no tracefs."))
    }

    @Test("is in the result's file, as shares that add up to one")
    func json() throws {
        let subject = try #require(Subject.all.first { $0.id == "kernel.clock-nanosleep-abs" })
        let plan = Plan(subjects: [subject], interval: .milliseconds(1), blocks: 2, block_ns: 30_000_000, seed: 1)
        let why = WhyRun(explains: true)
        let session = Session(plan, why: why)
        session.run(Progress(.hidden), LiveTable(isHidden: true))
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

    private static let trace = """
        # tracer: nop
                 bench-77      [001] d..2.    10.000000: sched_switch: prev_comm=bench prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
                <idle>-0       [001] dNh1.    10.000900: local_timer_entry: vector=236
                <idle>-0       [001] dNh1.    10.000910: local_timer_exit: vector=236
                <idle>-0       [001] d..2.    10.000950: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=make next_pid=99 next_prio=120
                <idle>-0       [000] d.h1.    10.000960: irq_handler_entry: irq=24 name=virtio0
                <idle>-0       [000] d.h1.    10.000990: irq_handler_exit: irq=24 ret=handled
                  make-99      [001] d..2.    10.003000: sched_switch: prev_comm=make prev_pid=99 prev_prio=120 prev_state=R ==> next_comm=bench next_pid=77 next_prio=120
                 bench-77      [001] d.s1.    10.003100: softirq_entry: vec=3 [action=NET_RX]
                 bench-77      [001] d.s1.    10.003200: softirq_exit: vec=3 [action=NET_RX]
        """

    @Test("names, by the kernel's trace, what occupied the processor longest before the thread ran on it")
    func kernelTrace() {
        let reading = TraceReading(Self.trace)
        #expect(
            Set(reading.spans.map(\.name)) == ["timer interrupt", "interrupt virtio0", "thread make", "softirq NET_RX"]
        )
        let window = KernelTrace.Window(begin_ns: 10_000_900_000, end_ns: 10_003_000_000, thread: 77)
        #expect(reading.culprits([window, window]) == ["thread make": 2])
        let other = KernelTrace.Window(begin_ns: 10_000_900_000, end_ns: 10_003_000_000, thread: 78)
        #expect(reading.culprits([other]) == [:])
    }

    @Test("is drawn from a flight recorder's file, and any other file is refused")
    func drawing() throws {
        let recorder = FlightRecorder(lateBeyond: .zero)
        recorder.add(.park, .stale, 1_000_000, 9_000_000, 8_000_000)
        recorder.add(.call, .stale, 9_000_000, 9_500_000, 8_000_000)
        var submitted = SubmittedCall(submitted_ns: 9_000_000)
        submitted.cause = .runQueue
        recorder.addLate(LateCall(name: "", called_ns: 9_000_000, submitted.explained(8_000_000, 9_000_000)))
        let picture = try TraceDrawing.svg(Data(recorder.json().utf8), named: "a.json")
        #expect(picture.contains("late: runQueue 1.00 ms"))
        #expect(picture.components(separatedBy: "<rect").count == 4)
        #expect(XMLDocumentCheck.isWellFormed(picture))
        #expect(throws: BenchError.self) { try TraceDrawing.svg(Data("[]".utf8), named: "b.json") }
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

/// Checks that every element that is opened is closed.
private enum XMLDocumentCheck {
    static func isWellFormed(_ text: String) -> Bool {
        var open: [Substring] = []
        for piece in text.split(separator: "<").dropFirst(text.hasPrefix("<") ? 0 : 1) {
            guard let end = piece.firstIndex(of: ">") else { return false }
            let tag = piece[..<end]
            if tag.hasPrefix("/") {
                guard open.popLast() == tag.dropFirst() else { return false }
            } else if !tag.hasSuffix("/") {
                open.append(tag.prefix { $0 != " " })
            }
        }
        return open.isEmpty
    }
}
