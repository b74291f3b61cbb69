// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import Testing

/// Texts for people: descriptions, reports and warnings.
@Suite struct DescriptionTests {
    @Test("Counts are singular for one, and plural for every other number")
    func counts() {
        #expect(counted(0, "timer") == "0 timers")
        #expect(counted(1, "timer") == "1 timer")
        #expect(counted(2, "timer") == "2 timers")
    }

    @Test("An engine's description says one timer and one fire in the singular")
    func engine() throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        #expect("\(engine)" == "TimerEngine(normal, 0 timers, 0 fires)")
        engine.schedule(after: .seconds(1), every: .seconds(1)) { _ in }
        time.advance(by: .seconds(1))
        #expect("\(engine)".hasPrefix("TimerEngine(normal, 1 timer, 1 fire; lateness of 1 value: "))
        time.advance(by: .seconds(1))
        #expect("\(engine)".hasPrefix("TimerEngine(normal, 1 timer, 2 fires; lateness of 2 values: "))
        engine.shutdown()
    }

    @Test("The description of an engine begins with the name of its clock's engines")
    func engines() throws {
        let time = ManualTime()
        let engines: [AnyTimerEngine] = [
            try TimerEngine(time: time.base), try BootTimeTimerEngine(time: time.base),
            try WallTimerEngine(time: time.base),
        ]
        let names = engines.map { "\($0)".prefix { $0 != "(" } }
        #expect(names == ["TimerEngine", "BootTimeTimerEngine", "WallTimerEngine"])
    }

    @Test("A length of time has two or three digits and the largest unit that leaves a whole one")
    func lengths() {
        for (length_ns, text) in [
            (0, "0 ns"), (999, "999 ns"), (1000, "1 µs"), (1540, "1.5 µs"), (812_000, "812 µs"), (999_600, "1 ms"),
            (2_000_000, "2 ms"),
            (70_000_000, "70 ms"), (70_000_000_000, "70 s"), (-1_500_000, "-1.5 ms"),
        ] as [(Int64, String)] {
            #expect(Duration.nanoseconds(length_ns).inWords == text)
        }
    }
}
