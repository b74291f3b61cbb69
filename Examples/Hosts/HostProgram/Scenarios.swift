// SPDX-License-Identifier: Apache-2.0
// Scenarios, with the conditions that must hold under each host.
import CGLib
import Dispatch
import Glibc
import HRTimer
import Synchronization

func require(_ holds: Bool, _ sentence: String) {
    if holds { return }
    print("not so: \(sentence)")
    exit(1)
}

/// Returns the number of context switches that the calling thread has made by waiting.
func waits() -> Int {
    var usage = rusage()
    getrusage(1, &usage)  // RUSAGE_THREAD, which Glibc hides
    return usage.ru_nvcsw
}

/// A count that handlers and hosts share. Only one thread uses it.
final class Count: @unchecked Sendable {
    var value = 0
}

func timers(_ host: Host) throws {
    let loop = TimerLoop()
    let calls = Count()
    var early = 0
    nonisolated(unsafe) var best = Duration.seconds(1000)
    nonisolated(unsafe) var isEarly = 0
    loop.add(
        LoopTimer(timeInterval: .milliseconds(2), repeats: true) { timer in
            let late = timer.fireInstant.duration(to: .now)
            if late < .zero { isEarly += 1 }
            best = min(best, late)
            calls.value += 1
        },
        forMode: .default
    )
    _ = try host.run(loop) { calls.value >= 100 }
    early = isEarly
    require(early == 0, "no call is early")
    require(best < .milliseconds(20), "the best call is in time, and not \(best) late")
}

func posts(_ host: Host) throws {
    let loop = TimerLoop()
    let calls = Count()
    let poster = Thread {
        for number in 0..<200 {
            loop.perform {
                require(calls.value == number, "blocks come once each and in order")
                calls.value += 1
            }
            usleep(number % 3 == 0 ? 0 : 500)
        }
    }
    _ = try host.run(loop) { calls.value == 200 }
    poster.join()
}

/// The only timer is far away, and ends the host.
func idle(_ host: Host) throws {
    let loop = TimerLoop()
    let done = Count()
    loop.add(LoopTimer(timeInterval: .milliseconds(400), repeats: false) { _ in done.value = 1 }, forMode: .default)
    let before = waits()
    let calls = try host.run(loop) { done.value == 1 }
    let waited = waits() - before
    // The host's own frames wait too: 24 of them in 400 ms, or 200.
    let frames = host == .frames ? 40 : host == .sdl ? 400 : 0
    require(calls <= 3 || host.isByFrame, "an idle loop is called for its timer alone, and not \(calls) times")
    require(waited <= 10 + frames, "an idle host sleeps, and does not wake \(waited) times")
}

/// The main thread's loop serves the main queue and the main actor's tasks under the host.
func main(_ host: Host) throws {
    let count = Count()
    DispatchQueue.main.async {
        require(pthread_equal(pthread_self(), mainThread) != 0, "blocks come on the main thread")
        count.value += 1
        DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(5)) { count.value += 1 }
    }
    let task = Task { @MainActor in
        require(pthread_equal(pthread_self(), mainThread) != 0, "tasks of the main actor come on the main thread")
        try? await Task.sleep(for: .milliseconds(5))
        require(pthread_equal(pthread_self(), mainThread) != 0, "and go on there")
        count.value += 1
    }
    TimerLoop.main.add(
        LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in count.value += 1 },
        forMode: .common
    )
    _ = try host.run(.main) { count.value == 4 }
    _ = task
}

/// Has a handler run GLib's loop again, as a dialog does. Returns how often the loop's timer was called within.
func nested(canRecurse: Bool) throws -> Int {
    let loop = TimerLoop()
    let inside = Count()
    let calls = Count()
    let isOver = Count()
    loop.add(
        LoopTimer(timeInterval: .milliseconds(5), repeats: true) { _ in
            if isOver.value == 2 { calls.value += 1 }
        },
        forMode: .default
    )
    loop.add(
        LoopTimer(timeInterval: .milliseconds(10), repeats: false) { _ in
            isOver.value = 2
            let dialog = g_main_loop_new(nil, 0)
            g_timeout_add(
                100,
                { dialog in
                    g_main_loop_quit(OpaquePointer(dialog))
                    return 0
                },
                UnsafeMutableRawPointer(dialog)
            )
            g_main_loop_run(dialog)
            g_main_loop_unref(dialog)
            inside.value = calls.value
            isOver.value = 3
        },
        forMode: .default
    )
    try Host.glib(Guest(loop) { isOver.value == 3 }, canRecurse: canRecurse)
    return inside.value
}

/// A thread, which must be joined before the program ends.
struct Thread {
    private let thread: pthread_t

    init(_ body: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        pthread_create(
            &thread,
            nil,
            { context in
                Unmanaged<Box>.fromOpaque(context!).takeRetainedValue().body()
                return nil
            },
            Unmanaged.passRetained(Box(body)).toOpaque()
        )
        self.thread = thread
    }

    func join() { pthread_join(thread, nil) }
}

/// The main thread, since that is the first to read this.
let mainThread = pthread_self()
