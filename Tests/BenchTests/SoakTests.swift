// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Testing

@testable import bench

@Suite("bench soak", .serialized, .timeLimit(.minutes(15)))
struct SoakTests {
    private func plan(timers: Int, rate: Double, duration_ns: Int64 = 0) -> SoakPlan {
        SoakPlan(timers: timers, rate: rate, duration_ns: duration_ns, lateBound_ns: 10_000_000, seed: 1)
    }

    @Test("distributes its timers over the faces, at least one for each")
    func shares() {
        #expect(plan(timers: 1_000_000, rate: 1).timersByFace.reduce(0, +) == 1_000_000)
        let few = plan(timers: 1, rate: 1).timersByFace
        #expect(few == Array(repeating: 1, count: SoakPlan.faces.count))
        #expect(SoakPlan.faces.map(\.share).reduce(0, +) == 1000)
    }

    @Test("gives each timer the interval that yields the total rate")
    func interval() {
        #expect(plan(timers: 1_000_000, rate: 100_000).interval_ns == 10_000_000_000)
        #expect(plan(timers: 1, rate: 1_000_000).interval_ns == 1_000_000)
    }

    @Test("judges memory growth by the median of the last quarter against that of the second")
    func growth() {
        #expect(SoakPlan.growth([1, 2, 3, 4, 5, 6, 7]) == nil)
        #expect(SoakPlan.growth([0, 0, 5, 5, 7, 7, 9, 9]) == 4)
        // One peak does not count as growth, nor does growth before the second quarter.
        #expect(SoakPlan.growth([0, 1, 2, 9, 9, 9, 9, 9, 9, 9, 99, 9]) == 0)
        #expect(SoakPlan.allowedGrowth(of: 1 << 20) == 4 << 20)
        #expect(SoakPlan.allowedGrowth(of: 1_000_000_000) == 10_000_000)
    }

    @Test("makes every face fire within a short run, with no fire early or lost")
    func soaks() async throws {
        // A one-shot is cancelled if 10 ms of sleep end before its deadline. On a busy machine that fails in some runs.
        var cancelled = 0
        for _ in 0..<50 where cancelled == 0 { cancelled += try await soak().cancelled }
        #expect(cancelled > 0)
    }

    private func soak() async throws -> SoakChurn.Counts {
        let plan = plan(timers: 100, rate: 2000, duration_ns: 200_000_000)
        let (faces, churn, text, json) = try await offThePool {
            let session = SoakSession(plan)
            try session.run { _ in }
            let report = SoakReport(session: session, host: .now(), command: ["bench"])
            return (session.faces, session.churn, report.text(Paint()), report.json.text())
        }
        #expect(faces.count == SoakPlan.faces.count + 1)
        for face in faces {
            #expect(face.fires > 0, "\(face.id)")
            #expect(face.early == 0, "\(face.id)")
            #expect(face.lost == 0, "\(face.id)")
        }
        #expect(churn.armed > 0 && churn.moved > 0)
        #expect(churn.lost == 0)
        #expect(churn.early + churn.movedEarly == 0)
        #expect(text.contains("verdict"))
        #expect(json.contains("\"failures\""))
        return churn
    }

    @Test("counts a deadline without a fire as lost")
    func countsLost() throws {
        let fleet = try Fleet([CrowdTimer(first_ns: 100, interval_ns: 50)])
        #expect(fleet.overdue(at: 99) == 0)
        #expect(fleet.overdue(at: 100) == 1)
        #expect(fleet.overdue(at: 249) == 3)
        fleet.member(0).skip(to: 250)
        #expect(fleet.overdue(at: 249) == 0)
    }

    @Test("refuses invalid values")
    func refuses() {
        let invalid = [
            "--rate": ["", "0", "x", "nan"], "--duration": ["", "1ms", "1001h"], "--late": ["", "0s", "-1ms"],
        ]
        for (option, texts) in invalid {
            for text in texts { #expect(throws: (any Error).self) { try SoakOptions.parse(["\(option)=\(text)"]) } }
        }
    }
}
