// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Foundation
import HRTimer
import Synchronization

// What code in a handler finds on its thread, and what it starts from there. The main thread makes all threads, and blocks
// no signal.

/// Prints what the handlers of each kind of thread find, or ends the process in one of them.
func handlers(_ question: String) {
    do {
        switch question {
        case "masks": try masksOfHandlers()
        case "children": try childrenOfHandlers()
        case "signals": try signalsToHandlers()
        case "pinned": try startedByPinnedHandler()
        case "crash-beside": try crashBesideHandlers()
        default: try crashInHandler(question)
        }
    } catch {
        print(error)
    }
}

/// A kind of thread that this library starts and runs handlers on.
struct HandlerPlace: Sendable {
    let name: String
    /// Makes a thread of this kind, runs the block in a handler there, and ends the thread.
    let run: @Sendable (@escaping @Sendable () -> Void) throws -> Void
    /// The timer slack that the library requests for it; nil if it leaves the inherited one.
    var slack_ns: UInt64? = 1

    private static func engine(_ configuration: TimerEngine.Configuration) -> HandlerPlace {
        HandlerPlace(name: "engine-\(configuration.parkStrategy)-\(configuration.precision)") { body in
            let engine = try TimerEngine(configuration)
            wait { done in engine.schedule(at: .now) { _ in done(body) } }
            engine.shutdown()
        }
    }

    static let all: [HandlerPlace] =
        ParkStrategy.allCases.filter { (try? Waiter($0)) != nil }.flatMap { way in
            [TimerPrecision.normal, .precise].map { engine(.init(parkStrategy: way, precision: $0)) }
        } + [
            HandlerPlace(name: "wall") { body in
                let engine = try WallTimerEngine()
                wait { done in engine.schedule(at: .now) { _ in done(body) } }
                engine.shutdown()
            },
            HandlerPlace(name: "source") { body in
                let engine = try TimerEngine()
                let source = TimerSource(engine: engine)
                wait { done in
                    source.setEventHandler { done(body) }
                    source.schedule(deadline: .now)
                    source.activate()
                }
                source.cancelAndWait()
                engine.shutdown()
            },
            HandlerPlace(
                name: "loop",
                run: { body in
                    let worker = try TimerLoop.thread(name: "loop")
                    let timer = Locked<LoopTimer?>(nil)
                    wait { done in
                        let made = LoopTimer(timeInterval: .zero, repeats: false) { _ in done(body) }
                        timer.withLock { $0 = made }
                        worker.loop.add(made, forMode: .default)
                    }
                    worker.shutdown()
                },
                slack_ns: nil
            ),
            HandlerPlace(
                name: "worker",
                run: { body in
                    let worker = Locked<LoopWorker?>(nil)
                    let failure = Locked<(any Error)?>(nil)
                    wait { done in
                        do {
                            let made = try LoopWorker(name: "worker") { _ in done(body) }
                            worker.withLock { $0 = made }
                        } catch {
                            failure.withLock { $0 = error }
                            done {}
                        }
                    }
                    worker.withLock { $0 }?.wait()
                    if let failure = failure.withLock({ $0 }) { throw failure }
                },
                slack_ns: nil
            ),
            HandlerPlace(name: "executor") { body in
                let executor = try TimerExecutor()
                wait { done in Task(executorPreference: executor) { done(body) } }
            },
            HandlerPlace(
                name: "deadline",
                run: { body in
                    // Made here, so that its thread inherits from this one.
                    _ = TimerEngine.shared
                    wait { done in
                        Task.detached {
                            // Long enough, on a busy machine too, that the handler is there first: it would run in the task.
                            try? await withTimeout(.milliseconds(200)) {
                                try await withTaskCancellationHandler {
                                    try await Task.sleep(for: .seconds(3600))
                                } onCancel: {
                                    done(body)
                                }
                            }
                        }
                    }
                },
                slack_ns: nil
            ),
        ]

    /// Returns when `begin` has had its argument run a block.
    private static func wait(_ begin: (@escaping @Sendable (@Sendable () -> Void) -> Void) -> Void) {
        let isDone = Latch()
        begin { body in
            body()
            isDone.open()
        }
        isDone.wait()
    }
}

/// Ends the process by a failure in a handler of that kind, or of a `Thread` for comparison.
func crashInHandler(_ place: String) throws {
    setMask([])
    if place == "thread" { Thread.detachNewThread { failInHandler() } }
    try HandlerPlace.all.first { $0.name == place }?.run { failInHandler() }
    sleep(5)
}

@inline(never) private func failInHandler() {
    fatalError("in a handler")
}

/// Ends the process by a failure of the main thread while threads of each kind wait.
func crashBesideHandlers() throws {
    setMask([])
    let engines = try ParkStrategy.allCases.filter { (try? Waiter($0)) != nil }.map {
        try TimerEngine(.init(parkStrategy: $0))
    }
    let worker = try TimerLoop.thread(name: "loop")
    sleep(1)
    withExtendedLifetime((engines, worker)) { failInHandler() }
}

/// Calls `check` in a handler of each kind, and prints "all", or the kinds where it returned something else than nil.
func printForAllPlaces(_ check: @escaping @Sendable (HandlerPlace) -> String?) throws {
    let found = Locked<[String]>([])
    for place in HandlerPlace.all {
        try place.run {
            if let wrong = check(place) { found.withLock { $0.append("\(place.name): \(wrong)") } }
        }
    }
    let all = found.withLock { $0 }
    print(all.isEmpty ? "all" : all.joined(separator: ", "))
}

/// Returns the signals that the calling thread blocks.
private func blockedSignals() -> [Int32] {
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return (1...64).filter { sigismember(&mask, $0) == 1 }
}

private func setMask(_ signals: [Int32]) {
    var mask = sigset_t()
    sigemptyset(&mask)
    for signal in signals { sigaddset(&mask, signal) }
    pthread_sigmask(SIG_SETMASK, &mask, nil)
}

/// The signals that handlers find blocked are those which the thread that made their thread blocks.
func masksOfHandlers() throws {
    let blocked = [SIGUSR2, SIGWINCH]
    setMask(blocked)
    // Foundation and the pool have threads of their own: the mask matters in handlers alone.
    try printForAllPlaces { _ in
        let found = blockedSignals()
        return found == blocked ? nil : "\(found.count) signals are blocked"
    }
}

/// Children that handlers start end by SIGTERM.
func childrenOfHandlers() throws {
    setMask([])
    try printForAllPlaces { _ in
        var pid = pid_t()
        let arguments = ["sleep", "60"].map { (text: String) in strdup(text) } + [nil]
        guard posix_spawnp(&pid, "sleep", nil, nil, arguments, environ) == 0 else { return "no child" }
        kill(pid, SIGTERM)
        var status: Int32 = 0
        for _ in 0..<500 where waitpid(pid, &status, WNOHANG) == 0 { usleep(10_000) }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        if status & 0x7f != SIGTERM { return "posix_spawn's child lives" }

        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sleep")
        process.arguments = ["60"]
        do { try process.run() } catch { return "\(error)" }
        process.terminate()
        for _ in 0..<500 where process.isRunning { usleep(10_000) }
        let ended = !process.isRunning
        kill(process.processIdentifier, SIGKILL)
        return ended ? nil : "Foundation's Process lives"
    }
}

private let profilingSignals = Atomic<Int>(0)

/// Signals that land on a thread interrupt its waits, and these go on to the same deadlines: prints "all", or the kinds whose
/// fires were early or lost, and those where no signal arrived.
func signalsToHandlers() throws {
    setMask([])
    var action = sigaction()
    // Without SA_RESTART: each wait returns EINTR.
    action.__sigaction_handler.sa_handler = { _ in profilingSignals.wrappingAdd(1, ordering: .relaxed) }
    sigaction(SIGPROF, &action, nil)
    var wrong: [String] = []
    for way in ParkStrategy.allCases where (try? Waiter(way)) != nil {
        for precision in TimerPrecision.allCases {
            let engine = try TimerEngine(.init(parkStrategy: way, precision: precision))
            let found = fireUnderSignals { deadline, handler in engine.schedule(at: deadline) { _ in handler() } }
            if let found { wrong.append("engine \(way) \(precision): \(found)") }
            engine.shutdown()
        }
    }
    for precision in TimerPrecision.allCases {
        for hasSource in [false, true] {
            let worker = try TimerLoop.thread(name: "loop", precision: precision)
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            if hasSource { try worker.loop.add(LoopSource(descriptor: ends[0]) { _, _ in }, forMode: .default) }
            let found = fireUnderSignals { deadline, handler in
                let timer = LoopTimer(fireAt: deadline, interval: .zero, repeats: false) { _ in handler() }
                worker.loop.add(timer, forMode: .default)
            }
            if let found { wrong.append("loop \(precision) \(hasSource ? "with a source" : "alone"): \(found)") }
            worker.shutdown()
            ends.forEach { close($0) }
        }
    }
    print(wrong.isEmpty ? "all" : wrong.joined(separator: ", "))
}

/// Arms some timers in turn, and sends SIGPROF to their thread until each has fired. Returns what was wrong, or nil.
private func fireUnderSignals(_ arm: (MonotonicInstant, @escaping @Sendable () -> Void) -> Void) -> String? {
    let threads = Locked<pthread_t?>(nil)
    let early = Atomic<Int>(0)
    let before = profilingSignals.load(ordering: .relaxed)
    for _ in 0..<6 {
        let fired = Latch()
        let deadline = MonotonicInstant.now.advanced(by: .milliseconds(10))
        arm(deadline) {
            if MonotonicInstant.now < deadline { early.wrappingAdd(1, ordering: .relaxed) }
            threads.withLock { $0 = pthread_self() }
            fired.open()
        }
        for _ in 0..<30_000 where !fired.isOpen {
            if let thread = threads.withLock({ $0 }) { pthread_kill(thread, SIGPROF) }
            usleep(300)
        }
        if !fired.isOpen { return "a fire is lost" }
    }
    if early.load(ordering: .relaxed) > 0 { return "early" }
    return profilingSignals.load(ordering: .relaxed) == before ? "no signal arrived" : nil
}

/// Returns the processors that the calling thread may run on, and its timer slack.
private func processorsAndSlack() -> (processors: String, slack_ns: UInt64) {
    let status = (try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") } ?? ""
    return (line.split(separator: "\t").last.map(String.init) ?? "", hrt_thread_timer_slack_ns())
}

/// A handler on a thread with one processor and a slack of its own starts a thread of each kind: prints "all" if each has the
/// processors of the main thread, and the main thread's slack or the one that the library requests for it.
func startedByPinnedHandler() throws {
    let mainThread = processorsAndSlack()
    guard let first = Int(mainThread.processors.prefix { $0.isNumber }), mainThread.processors != "\(first)" else {
        return print("all")  // there is but one processor
    }
    var pinned = RealTimeSettings()
    pinned.processors = [first]
    pinned.timerSlack = .nanoseconds(77)
    let settings = pinned
    let checked = Latch()
    let check: @Sendable () -> Void = {
        let own = processorsAndSlack()
        if own != ("\(first)", 77) { print("not pinned: \(own)") }
        do {
            try printForAllPlaces { place in
                let found = processorsAndSlack()
                let expected = (processors: mainThread.processors, slack_ns: place.slack_ns ?? mainThread.slack_ns)
                return found == expected ? nil : "\(found)"
            }
        } catch {
            print(error)
        }
        checked.open()
    }
    // The engine and the loop's thread set their processors in the same way; the second one is started by the first.
    let engine = try TimerEngine(.init(realTime: settings))
    engine.schedule(at: .now) { _ in
        // That thread is unpinned, then pins itself: what it starts is put right, too.
        guard let worker = try? TimerLoop.thread(name: "pinned", realTime: settings) else { return print("no thread") }
        worker.loop.perform(check)
        checked.wait()
        worker.shutdown()
    }
    checked.wait()
    engine.shutdown()
}
