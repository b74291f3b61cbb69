// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Closures in main-actor code, which are isolated to the main actor without an annotation, called by other threads' loops.
@Suite(.serialized, .hangLimit) struct InheritedActorTests {
    @MainActor private final class Model {
        var calls: [String] = []

        func block() {
            MainActor.assertIsolated()
            calls.append("block")
        }
    }

    @Test("Sources, triggers, observers, links and coalescers call closures of main-actor code on the main actor")
    @MainActor func inherited() async throws {
        let model = Model()
        let worker = try TimerLoop.thread()
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        write(ends[1], "x", 1)
        // Plain closures: they are isolated to the main actor, as this function is.
        let source = try LoopSource(descriptor: ends[0]) { source, _ in
            model.block()
            source.invalidate()
        }
        try worker.loop.add(source, forMode: .default)
        let trigger = LoopTrigger { _ in model.block() }
        worker.loop.add(trigger, forMode: .default)
        trigger.signal()
        let observer = LoopObserver(activities: .beforeTimers, repeats: false) { _, _ in model.block() }
        worker.loop.add(observer, forMode: .default)
        let link = DisplayLink(framesPerSecond: 1000) { [weak model] link in
            model?.block()
            link.invalidate()
        }
        link.add(to: worker.loop, forMode: .default)
        let bar = FrameCoalescer<Int>(loop: worker.loop) { _ in model.block() }
        bar.update(1)
        bar.finish()
        try await until { model.calls.count >= 5 }
        await worker.shutdown()
        #expect(model.calls == Array(repeating: "block", count: 5))
        for end in ends { close(end) }
    }

    @Test("A loop does not spin while a descriptor's handler waits for the main actor, and watches it again after that")
    @MainActor func held() async throws {
        let model = Model()
        let worker = try TimerLoop.thread()
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        let passes = Recorder<Void>()
        // A function that is isolated to no actor.
        let count: LoopObserver.Handler = { _, _ in passes.append(()) }
        let observer = LoopObserver(activities: .beforeTimers, handler: count)
        worker.loop.add(observer, forMode: .default)
        let source = try LoopSource(descriptor: ends[0]) { source, events in
            var byte: UInt8 = 0
            if events == .readable, read(source.descriptor, &byte, 1) == 1 { model.block() }
        }
        try worker.loop.add(source, forMode: .default)
        write(ends[1], "x", 1)
        // Keeps the main actor busy: it does not suspend here.
        usleep(50_000)
        #expect(passes.count < 20)
        try await until { model.calls.count == 1 }
        write(ends[1], "yz", 2)
        try await until { model.calls.count == 3 }
        source.invalidate()
        await worker.shutdown()
        for end in ends { close(end) }
    }

    @Test("A coalescer reports the latest of the updates made while the main actor is busy, and the last at its finish")
    @MainActor func coalesced() async throws {
        let worker = try TimerLoop.thread()
        let told = Recorder<Int>()
        let ticks = Recorder<Void>()
        let count: DisplayLink.Handler = { _ in ticks.append(()) }
        let link = DisplayLink(framesPerSecond: 1000, handler: count)
        link.add(to: worker.loop, forMode: .default)
        let bar = FrameCoalescer<Int>(source: VsyncSource(frameRate: FrameRate(1000)), loop: worker.loop) { value in
            MainActor.assertIsolated()
            told.append(value)
        }
        for value in 1...20 {
            bar.update(value)
            let before = ticks.count
            while ticks.count < before + 2 { usleep(500) }
        }
        #expect(told.count == 0)
        try await until { told.count == 1 }
        #expect(told.all == [20])
        bar.update(21)
        bar.finish()
        try await until { told.count == 2 }
        #expect(told.all == [20, 21])
        link.invalidate()
        await worker.shutdown()
    }
}
