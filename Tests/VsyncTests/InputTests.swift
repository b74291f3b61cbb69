// SPDX-License-Identifier: Apache-2.0
import CWaylandWindow
import CX11Window
import Dispatch
import Glibc
import HRTimer
import HRTimerCore
import TestSupport
import TestTraits
import Testing

/// The application's events and the frames of its window share one connection. An event that a frame, or the source of its
/// refreshes, has already read must not wait for the next event. Drawing takes most of each period, so that most events come
/// while a frame is drawn.
///
/// The tests count what must always hold. That no event is late must hold in one of several attempts.
///
/// Takes some 25 seconds alone: each attempt starts a display server and a window, and sends it events for seconds.
@Suite(.serialized, .ownThread, .timeLimit(.minutes(15))) struct InputTests {
    /// When each event was sent and handled, in order.
    private struct Journal: Sendable {
        let sent = Recorder<Int64>()
        let handled = Recorder<Int64>()
        /// How long the threads had waited for a processor before each event was sent, and after it was handled.
        private let waitsBefore_ns = Recorder<Int64>()
        private let waitsAfter_ns = Recorder<Int64>()
        let waits: ProcessorWaits
        /// When each frame on the loop's thread was drawn.
        private let frames_ns = Recorder<ClosedRange<Int64>>()
        /// Has an element if frames came before the first event was sent: a handler that waits for events stops them.
        let begun = Recorder<Void>()
        /// The number of events handled within the limit after the last one was sent.
        let handledInTime = Recorder<Int>()

        init(server: pid_t) { waits = ProcessorWaits(process: server) }

        func noteSent() {
            waitsBefore_ns.append(waits.total_ns)
            sent.append(MonotonicInstant.now.nanoseconds)
        }

        func drawFrame(_ body: () -> Void) {
            let begin_ns = MonotonicInstant.now.nanoseconds
            body()
            frames_ns.append(begin_ns...MonotonicInstant.now.nanoseconds)
        }

        func noteHandled() {
            handled.append(MonotonicInstant.now.nanoseconds)
            waitsAfter_ns.append(waits.total_ns)
        }

        var late_ns: [Int64] { zip(sent.all, handled.all).map { $1 - $0 } }
        /// `late_ns` without the waits for a processor, summed over all threads, and without frames that were due when the frame
        /// before them ended: a pass calls timers first, and only after a frame that began late is the next one due at once.
        var lateByItself_ns: [Int64] {
            let frames = frames_ns.all
            let upon = zip(frames, frames.dropFirst()).filter { $1.lowerBound - $0.upperBound < 5_000_000 }.map(\.1)
            let waits_ns = zip(waitsBefore_ns.all, waitsAfter_ns.all).map { $1 - $0 }
            return zip(zip(sent.all, handled.all), waits_ns).map { span, wait_ns in
                let within = upon.filter { $0.lowerBound >= span.0 && $0.upperBound <= span.1 }
                return span.1 - span.0 - wait_ns - within.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
            }
        }
    }

    private static let events = 60
    private static let attempts = 12
    private static let limit_ns: Int64 = 20_000_000
    /// How long drawing a frame takes, of the 16.7 ms of a period at 60 Hz.
    private static let frame_us: UInt32 = 10_000

    /// Calls `send` at random instants on another thread, from when `begins` returns true. Meanwhile runs the loop until all
    /// events are handled, or until `limit` has passed since the last one.
    @available(*, noasync)
    private func run(
        _ loop: TimerLoop,
        _ journal: Journal,
        _ limit: Duration,
        after begins: @escaping @Sendable () -> Bool,
        _ send: @escaping @Sendable () -> Void
    ) {
        let group = DispatchGroup()
        let hasReturned = Recorder<Void>()
        var random = SeededRandom.fromEnvironment()
        let pauses_us = (0..<Self.events).map { _ in UInt32.random(in: 3_000...40_000, using: &random) }
        journal.waits.addThisThread()
        DispatchQueue.global().async(group: group) {
            journal.waits.addThisThread()
            let start = MonotonicInstant.now
            while !begins(), .now < start + .seconds(30) { usleep(1000) }
            if begins() { journal.begun.append(()) }
            for pause_us in pauses_us {
                usleep(pause_us)
                journal.noteSent()
                send()
            }
            let end = MonotonicInstant.now + limit
            while journal.handled.count < Self.events, .now < end { usleep(1000) }
            journal.handledInTime.append(journal.handled.count)
            loop.stop()
            // A loop whose handler waits for another event would never return.
            while hasReturned.count == 0 {
                usleep(50_000)
                if hasReturned.count == 0 { send() }
            }
        }
        loop.run(until: .now + .seconds(200))
        hasReturned.append(())
        group.wait()
    }

    /// Expects that in one of several attempts every event is handled in time, apart from waits for a processor and their
    /// consequences. One attempt is not enough, since the time that a hypervisor takes is counted nowhere.
    ///
    /// An event that was not handled at all, or before it was sent, is a failure at once. Under a sanitizer, where the same code
    /// takes several times as long, only that is a failure.
    @available(*, noasync)
    private func expectInTime(_ attempt: (_ limit: Duration) throws -> Journal) throws {
        var late: [[Int64]] = []
        while late.count < Self.attempts {
            // A hypervisor or a real-time thread may keep a processor from all others for most of a minute.
            let journal = try attempt(.seconds(60))
            try #require(journal.begun.count == 1, "no frames within 30 s")
            try #require(journal.sent.count == Self.events)
            try #require(journal.handledInTime.all == [Self.events])
            #expect(journal.late_ns.allSatisfy { $0 >= 0 })
            late.append(journal.lateByItself_ns.filter { $0 >= Self.limit_ns })
            if isSanitized || late.last!.isEmpty { return }
        }
        Issue.record("late in every attempt, in ns, not for want of a processor: \(late)")
    }

    /// Who commits the surface: the application, the source, or the application in its first frames only.
    enum Commits: CaseIterable { case application, source, seldom }

    /// Which of two sources on one connection is watched first. The kernel reports the later one first, and that may then have
    /// read the events of both.
    enum Order: CaseIterable {
        case inputFirst, framesFirst

        @available(*, noasync)
        func add(to loop: TimerLoop, input: @escaping @Sendable () -> Void, frames: @escaping @Sendable () -> Void) {
            let (first, second) = self == .inputFirst ? (input, frames) : (frames, input)
            first()
            loop.perform(afterDelay: 0.02, second)
        }
    }

    @Test(
        "Events on a Wayland window's connection reach the application's source in time, beside its frames",
        .enabled(if: Weston.isInstalled, "weston is not installed: apt-get install weston"),
        arguments: Commits.allCases,
        Order.allCases
    )
    func wayland(_ commits: Commits, _ order: Order) throws {
        let weston = try Weston()
        let window = try weston.window()
        var surface = WaylandSurface(display: window.display, surface: window.surface)
        surface.isCommittedBySource = commits == .source
        let source = try VsyncSource.wayland(surface)
        try expectInTime { limit in
            let (loop, journal) = (TimerLoop(), Journal(server: weston.pid))
            // The simplest handler: it waits for an event if there is none to dispatch.
            let input = try LoopSource(descriptor: window.descriptor) { _, _ in window.dispatch() }
            let frames = Recorder<Void>()
            let link = DisplayLink(source: source) { _ in
                journal.drawFrame {
                    usleep(Self.frame_us)
                    frames.append(())
                    // The compositor reports nothing for a window that has nothing new to show.
                    if commits == .seldom, frames.count > 60 { return }
                    source.willCommit()
                    window.draw()
                }
            }
            order.add(to: loop) {
                do { try loop.add(input, forMode: .common) } catch { Issue.record("\(error)") }
            } frames: {
                link.add(to: loop, forMode: .common)
            }
            run(loop, journal, limit, after: { frames.count > 70 }) {
                window.ask { journal.noteHandled() }
            }
            link.invalidate()
            input.invalidate()
            return journal
        }
        source.detach()
        withExtendedLifetime((window, weston)) {}
    }

    @Test(
        "With frames and the application's source on two threads, events that one reads for the other wake its loop",
        .enabled(if: Weston.isInstalled, "weston is not installed: apt-get install weston")
    )
    func otherThread() throws {
        let weston = try Weston()
        let window = try weston.window()
        let source = try VsyncSource.wayland(WaylandSurface(display: window.display, surface: window.surface))
        try expectInTime { limit in
            let (loop, journal) = (TimerLoop(), Journal(server: weston.pid))
            let input = try LoopSource(descriptor: window.descriptor) { _, _ in window.dispatch() }
            try loop.add(input, forMode: .common)
            let drawer = try TimerLoop.thread()
            let frames = Recorder<Void>()
            let link = DisplayLink(source: source) { _ in
                if frames.count == 0 { journal.waits.addThisThread() }
                source.willCommit()
                window.draw()
                frames.append(())
            }
            link.add(to: drawer.loop, forMode: .common)
            run(loop, journal, limit, after: { frames.count > 10 }) {
                window.ask { journal.noteHandled() }
            }
            link.invalidate()
            input.invalidate()
            drawer.shutdown()
            return journal
        }
        source.detach()
        withExtendedLifetime((window, weston)) {}
    }

    @Test(
        "Keys reach an X11 window's source in time, beside its frames, also if each frame reads the connection",
        .enabled(if: XServer.isInstalled, "Xvfb is not installed: apt-get install xvfb"),
        arguments: [false, true]
    )
    func x11(_ syncs: Bool) throws {
        let server = try XServer(framesPerSecond: 60)
        let source = try server.connect()
        let window = try X11Window(on: server.display)
        let keys = try X11Keys(on: server.display)
        // Each attempt has a key of its own: a press that ends a waiting loop may be read in the next attempt.
        var attempted: Int32 = 0
        try expectInTime { limit in
            attempted += 1
            let key = 23 + attempted
            let (loop, journal) = (TimerLoop(), Journal(server: server.pid))
            let input = try LoopSource(descriptor: window.descriptor) { _, _ in
                // The simplest handler: it waits for an event if there is none.
                repeat {
                    if window.take() == key { journal.noteHandled() }
                } while window.pending > 0
            }
            try loop.add(input, forMode: .common)
            let frames = Recorder<Void>()
            let link = DisplayLink(source: source) { [weak input] _ in
                journal.drawFrame {
                    usleep(Self.frame_us)
                    window.draw()
                    frames.append(())
                    if syncs { window.sync() }
                }
                // Drawing alone may also have read events.
                if window.pending > 0 { input?.signal() }
            }
            link.add(to: loop, forMode: .common)
            run(loop, journal, limit, after: { frames.count > 10 }) { keys.press(key) }
            link.invalidate()
            input.invalidate()
            return journal
        }
        withExtendedLifetime(server) {}
    }
}

/// An application's window under X11.
private final class X11Window: @unchecked Sendable {
    // Sendable: only the test's thread uses it, which is also its loop's thread.
    private let window: OpaquePointer

    init(on display: String) throws {
        var window: OpaquePointer?
        try check(x11_window_open(display, &window), "open a window")
        self.window = window!
    }

    deinit { x11_window_close(window) }

    var descriptor: Int32 { x11_window_descriptor(window) }
    var pending: Int32 { x11_window_pending(window) }
    func draw() { x11_window_draw(window) }
    func sync() { x11_window_sync(window) }
    func take() -> Int32 { x11_window_take(window) }
}

/// A client of the X server that presses keys.
private final class X11Keys: @unchecked Sendable {
    // Sendable: only one thread at a time uses it.
    private let keys: OpaquePointer

    init(on display: String) throws {
        var keys: OpaquePointer?
        try check(x11_keys_open(display, &keys), "press keys")
        self.keys = keys!
    }

    deinit { x11_keys_close(keys) }

    func press(_ code: Int32) { x11_keys_press(keys, code) }
}
