// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer
import Synchronization
import TestSupport
import TestTraits
import Testing

/// Guarantees in a child of fork(2), in which the forking thread is the only one. Each test is a process of its own and forks
/// under load: the threads that the child loses are in the middle of something. The parent first does once what the child will
/// do: Swift's runtime builds types at first use, under a lock that no child can take if a lost thread holds it.
@Suite(.serialized) struct ForkTests {
    /// Threads that call `work` again and again until it ends.
    private final class Load: Sendable {
        private let isOver = Atomic(false)
        private let threads: Recorder<pthread_t>

        init(threads count: Int, _ work: @escaping @Sendable () -> Void) throws {
            threads = Recorder()
            for _ in 0..<count {
                threads.append(
                    try startThread { [self] in
                        while !isOver.load(ordering: .relaxed) { work() }
                    }
                )
            }
        }

        func end() {
            isOver.store(true, ordering: .relaxed)
            for thread in threads.all { join(thread) }
        }
    }

    @Test("A child has a fork generation of its own, and so has the child's child; the parent keeps its generation")
    func generation() async {
        await #expect(processExitsWith: .success) {
            let before = hrt_fork_generation()
            let words = inChild { say in
                say("\(hrt_fork_generation() - before)")
                for word in inChild({ say in say("\(hrt_fork_generation() - before)") }) { say(word) }
            }
            #expect(words == ["1", "2"])
            #expect(hrt_fork_generation() == before)
        }
    }

    /// Holds a `Locked` for closures, which cannot own a noncopyable value.
    private final class Guarded<Value: Sendable>: Sendable {
        let value: Locked<Value>

        init(_ value: Value) {
            self.value = Locked(value)
        }
    }

    /// Waits for a latch in an exit test, which has no other thread to wait on here. An asynchronous function may not call
    /// `wait()`.
    private static func wait(for latch: Latch) {
        latch.wait()
    }

    @Test(
        "The child can take a lock that a lost thread held, and the lock is exclusive there from then on",
        .hangLimit
    )
    func abandonedLock() async {
        await #expect(processExitsWith: .success) {
            let guarded = Guarded(0)
            let isHeld = Latch()
            let mayLetGo = Latch()
            let holder = try startThread {
                guarded.value.lock().pointee = 1
                isHeld.open()
                mayLetGo.wait()
                guarded.value.unlock()
            }
            Self.wait(for: isHeld)
            // Another thread sleeps for the lock; the child has lost that thread too.
            let sleeper = try startThread { guarded.value.withLock { $0 += 1 } }
            pause(.milliseconds(20))
            let isAbandoned = guarded.value.isAbandoned
            #expect(!isAbandoned)
            let words = inChild { say in
                say("\(guarded.value.isAbandoned)")
                say("\(guarded.value.withLock { $0 })")
                say("\(guarded.value.isAbandoned)")
                // Thread Sanitizer allows no thread in such a child.
                guard !isSanitized else { return }
                let number = guarded.value.lock()
                let others = (0..<3).compactMap { _ in try? startThread { guarded.value.withLock { $0 += 1 } } }
                pause(.milliseconds(20))
                if number.pointee != 1 { say("not exclusive") }
                guarded.value.unlock()
                for other in others { join(other) }
                if guarded.value.withLock({ $0 }) != 4 { say("not added") }
            }
            #expect(words == ["true", "1", "false"])
            mayLetGo.open()
            join(holder)
            join(sleeper)
            let atLast = guarded.value.withLock { $0 }
            #expect(atLast == 2)
        }
    }

    @Test("The child does not free a value that a lost thread held locked, and frees any other value")
    func abandonedValue() async {
        await #expect(processExitsWith: .success) {
            let canaries = Canaries()
            let isHeld = Latch()
            let mayLetGo = Latch()
            let box = Recorder<Guarded<any AnyObject & Sendable>>()
            for _ in 0..<2 { box.append(Guarded(canaries.make())) }
            // The thread borrows the first value, so that the child's reference is the last one.
            let thread = try startThread { [unowned held = box.all[0]] in
                _ = held.value.lock()
                isHeld.open()
                mayLetGo.wait()
                held.value.unlock()
            }
            Self.wait(for: isHeld)
            let words = inChild { say in
                box.removeAll()
                say("\(canaries.count)")
            }
            #expect(words == ["1"])
            mayLetGo.open()
            join(thread)
            box.removeAll()
            #expect(canaries.count == 0)
        }
    }

    @Test(
        "After a fork under load the child can take every lock, and finds a latch of the parent open",
        // A sanitizer does not bear fork(2) beside working threads: one child of 30 hangs.
        .disabled(if: isSanitized),
        .hangLimit
    )
    func locksUnderLoad() async {
        await #expect(processExitsWith: .success) {
            let guarded = (0..<3).map { _ in Guarded(0) }
            @Sendable func takeAll(_ latch: Latch, _ say: Say) {
                for one in guarded { one.value.withLock { $0 += 1 } }
                Self.wait(for: latch)
                say("\(latch.isOpen)")
            }
            let open = Latch()
            open.open()
            takeAll(open) { _ in }
            let latch = Latch()
            let load = try Load(threads: 3) { for one in guarded { one.value.withLock { $0 += 1 } } }
            for _ in 0..<200 {
                let words = inChild { say in takeAll(latch, say) }
                #expect(words == ["true"])
            }
            #expect(!latch.isOpen)
            load.end()
        }
    }

    /// Does what the children do with engines and sources.
    private static func useOnce() throws {
        let engine = try TimerEngine()
        let token = engine.schedule(at: .now.advanced(by: .seconds(3600))) { _ in }
        _ = "\(engine.reschedule(token, at: .now)) \(engine.cancel(token)) \(engine.liveTimers)"
        _ = (engine.cancelAndWait(token), token == .stale)
        _ = (engine.statistics, engine.lateness, engine.wakeLatency, engine.settingResults)
        let fired = Latch()
        _ = MonotonicClock().now
        TimerEngine.shared.schedule(at: .now.advanced(by: .milliseconds(1))) { _ in fired.open() }
        wait(for: fired)
        let source = TimerSource(engine: engine)
        source.setEventHandler {}
        source.schedule(deadline: .now.advanced(by: .seconds(1)))
        source.activate()
        source.suspend()
        source.resume()
        _ = source.data
        source.cancelAndWait()
        _ = "\(source.isCancelled)"
        engine.shutdown()
        engine.shutdown()
    }

    @Test(
        "In the child inherited engines have ended: calls return and nothing fires, and `.shared` starts anew",
        // A sanitizer does not bear fork(2) beside working threads.
        .disabled(if: isSanitized),
        .hangLimit
    )
    func engines() async {
        await #expect(processExitsWith: .success) {
            try Self.useOnce()
            let engine = try TimerEngine()
            let load = try Load(threads: 3) {
                for engine in [engine, .shared] {
                    let token = engine.schedule(at: .now.advanced(by: .microseconds(200))) { _ in }
                    engine.reschedule(token, at: .now.advanced(by: .microseconds(100)))
                    engine.cancel(token)
                }
            }
            let pending = engine.schedule(at: .now.advanced(by: .seconds(3600))) { _ in }
            for _ in 0..<100 {
                let words = inChild { say in
                    say("\(engine.cancel(pending)) \(engine.cancelAndWait(pending)) \(engine.liveTimers)")
                    say("\(engine.reschedule(pending, at: .now))")
                    say("\(engine.schedule(at: .now) { _ in } == .stale)")
                    _ = (engine.statistics, engine.lateness, engine.wakeLatency, engine.settingResults)
                    engine.shutdown()
                    engine.shutdown()
                    // Thread Sanitizer allows no thread in such a child.
                    guard !isSanitized else { return say("fired") }
                    let fired = Latch()
                    _ = MonotonicClock().now
                    TimerEngine.shared.schedule(at: .now.advanced(by: .milliseconds(1))) { _ in fired.open() }
                    Self.wait(for: fired)
                    say("fired")
                }
                #expect(words == ["false false 0", "false", "true", "fired"])
            }
            load.end()
            #expect(engine.cancel(pending))
        }
    }

    @Test(
        "In the child inherited sources are dead: they can be moved, cancelled and released, and none fires",
        // A sanitizer does not bear fork(2) beside working threads.
        .disabled(if: isSanitized),
        .hangLimit
    )
    func sources() async {
        await #expect(processExitsWith: .success) {
            try Self.useOnce()
            let engine = try TimerEngine()
            let source = TimerSource(engine: engine)
            source.setEventHandler {}
            source.schedule(deadline: .now, repeating: .microseconds(100))
            source.activate()
            let load = try Load(threads: 3) {
                let source = TimerSource(engine: engine)
                source.setEventHandler {}
                source.schedule(deadline: .now.advanced(by: .microseconds(100)))
                source.activate()
                source.schedule(deadline: .now.advanced(by: .microseconds(200)))
                source.cancelAndWait()
            }
            for _ in 0..<100 {
                let words = inChild { say in
                    source.suspend()
                    source.resume()
                    source.schedule(deadline: .now.advanced(by: .seconds(1)))
                    _ = source.data
                    source.cancelAndWait()
                    say("\(source.isCancelled)")
                }
                #expect(words == ["true"])
            }
            load.end()
            await source.cancelAndWait()
        }
    }

    @Test(
        "In the child inherited loops have ended: they accept and run nothing and end at once; a new loop runs",
        // A sanitizer does not bear fork(2) beside working threads.
        .disabled(if: isSanitized),
        .hangLimit
    )
    func loops() async {
        await #expect(processExitsWith: .success) {
            @Sendable func useAll(_ worker: LoopThread, _ timer: LoopTimer, _ say: @escaping Say) {
                worker.loop.perform { say("performed") }
                worker.loop.wakeUp()
                worker.loop.stop()
                timer.invalidate()
                say("\(timer.isValid) \(worker.loop.liveTimers)")
                let added = LoopTimer(timeInterval: .zero, repeats: false) { _ in say("fired") }
                worker.loop.add(added, forMode: .default)
                say("\(added.isValid)")
                worker.shutdown()
                let loop = TimerLoop()
                loop.add(LoopTimer(timeInterval: .zero, repeats: false) { _ in }, forMode: .default)
                Self.run(loop)
                say("ran")
            }
            for _ in 0..<2 {
                let timer = LoopTimer(timeInterval: .seconds(3600), repeats: true) { _ in }
                useAll(try TimerLoop.thread(name: "first"), timer) { _ in }
            }
            let worker = try TimerLoop.thread(name: "inherited")
            let timer = LoopTimer(timeInterval: .microseconds(100), repeats: true) { _ in }
            worker.loop.add(timer, forMode: .default)
            let load = try Load(threads: 3) {
                worker.loop.perform {}
                let timer = LoopTimer(timeInterval: .microseconds(100), repeats: false) { _ in }
                worker.loop.add(timer, forMode: .default)
                timer.invalidate()
            }
            for _ in 0..<100 {
                let words = inChild { say in useAll(worker, timer, say) }
                #expect(words == ["false 0", "false", "ran"])
            }
            load.end()
            await worker.shutdown()
        }
    }

    @Test("A forked child chooses the display of its links again, and does not use its parent's")
    func sharedDisplay() async {
        await #expect(processExitsWith: .success) {
            setenv("VSYNC_SOURCE", "virtual", 1)
            let parents = VsyncSource.shared
            let words = inChild { say in
                let own = VsyncSource.shared
                say("\(own === parents)")
                say("\(VsyncSource.shared === own)")
            }
            #expect(words == ["false", "true"])
            #expect(VsyncSource.shared === parents)
        }
    }

    private static func run(_ loop: TimerLoop) {
        loop.run()
    }
}
