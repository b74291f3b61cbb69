// SPDX-License-Identifier: Apache-2.0
// Unoptimized code counts a reference for each copy.
#if !DEBUG
import CTestSupport
import HRTimer
import TestSupport
import Testing

// In a process of its own, since all of its threads are counted.
extension FireCostTests {
    @Test(
        "A fire of an engine's timer, of a source on its thread, and of a loop's timer retains at most ten objects",
        .enabled(if: !isSanitized, "a sanitizer's build counts others")
    )
    func references() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let engine = try TimerEngine()
            ctest_begin_fires()
            let token = engine.schedule(after: .zero, every: .microseconds(200)) { _ in ctest_note_fire() }
            #expect(Self.isWithinBudget("an engine's timer"))
            await engine.cancelAndWait(token)

            let source = TimerSource(engine: engine)
            ctest_begin_fires()
            source.setEventHandler { ctest_note_fire() }
            source.schedule(deadline: .now, repeating: .microseconds(200))
            source.activate()
            #expect(Self.isWithinBudget("a source"))
            await source.cancelAndWait()

            let thread = try TimerLoop.thread(name: "references")
            ctest_begin_fires()
            let timer = LoopTimer(timeInterval: .microseconds(200), repeats: true) { _ in ctest_note_fire() }
            thread.loop.add(timer, forMode: .default)
            #expect(Self.isWithinBudget("a loop's timer"))
            await thread.shutdown()

            // The count sees what it counts.
            ctest_begin_fires()
            let kept = Recorder<[Int]>()
            let (list, extra) = ([kept.count], 20)
            engine.schedule(after: .zero, every: .microseconds(200)) { _ in
                for _ in 0..<extra { kept.append(list) }
                ctest_note_fire()
            }
            #expect(Self.referencesOfFires() >= 100 * extra)
            await engine.shutdown()
        }
        print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
    }

    /// Whether a hundred fires retain no more than the budget. Says how many they were: 5, 8 and 9 with Swift 6.3.
    private static func isWithinBudget(_ what: String) -> Bool {
        let count = referencesOfFires()
        print("a fire of \(what) retains \(Double(count) / 100) objects")
        return count <= 10 * 100
    }

    private static func referencesOfFires() -> Int64 {
        while ctest_references_of_fires() < 0 { pause(.milliseconds(5)) }
        return ctest_references_of_fires()
    }
}
#endif
