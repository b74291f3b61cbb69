// SPDX-License-Identifier: Apache-2.0
import CVsync
import Glibc
import HRTimerCore
import TestSupport
import Testing

@testable import HRTimer

/// A fake libwayland-client with a fake compositor behind it, for behaviour that is seldom seen of a real one. There is one at a
/// time, because C functions capture nothing.
private final class FakeCompositor: @unchecked Sendable {
    // Sendable: used by the thread of one test at a time, as the suite is serialized.
    nonisolated(unsafe) static var current = FakeCompositor()

    /// The kind of a fake proxy.
    enum Role { case display, surface, registry, sync, presentation, frame, feedback }

    struct Proxy {
        let role: Role
        var handlers: UnsafeMutablePointer<vs_wl_handler?>?
        var data: UnsafeMutableRawPointer?
    }

    var hasPresentation = true
    var clock = UInt32(CLOCK_MONOTONIC)
    var error: Int32 = 0
    private(set) var proxies: [UInt: Proxy] = [:]
    private var next: UInt = 0x1000
    /// The events that the next dispatch delivers.
    private var events: [() -> Void] = []
    private(set) var commits = 0

    init() {}

    func make(_ role: Role) -> OpaquePointer? {
        next += 16
        proxies[next] = Proxy(role: role)
        return OpaquePointer(bitPattern: next)
    }

    private func key(_ proxy: OpaquePointer?) -> UInt { UInt(bitPattern: proxy) }

    func listen(
        _ proxy: OpaquePointer?,
        _ handlers: UnsafeMutablePointer<vs_wl_handler?>?,
        _ data: UnsafeMutableRawPointer?
    ) {
        proxies[key(proxy)]?.handlers = handlers
        proxies[key(proxy)]?.data = data
        let number = key(proxy)
        switch proxies[number]?.role {
        case .registry:
            guard hasPresentation else { return }
            events.append { [self] in
                call(number, 0) { handler, data, proxy in
                    typealias Global =
                        @convention(c) (
                            UnsafeMutableRawPointer?, OpaquePointer?, UInt32, UnsafePointer<CChar>?, UInt32
                        ) -> Void
                    "wp_presentation".withCString { unsafeBitCast(handler, to: Global.self)(data, proxy, 7, $0, 1) }
                }
            }
        case .presentation: events.append { [self] in tellNumber(number, clock) }
        case .sync: events.append { [self] in tellNumber(number, 0) }
        default: break
        }
    }

    private func call(
        _ number: UInt,
        _ event: Int,
        _ body: (vs_wl_handler, UnsafeMutableRawPointer?, OpaquePointer?) -> Void
    ) {
        guard let proxy = proxies[number], let handler = proxy.handlers?[event] else { return }
        body(handler, proxy.data, OpaquePointer(bitPattern: number))
    }

    /// Delivers an event with one number: a callback's, or the clock.
    private func tellNumber(_ number: UInt, _ value: UInt32) {
        call(number, 0) { handler, data, proxy in
            typealias Done = @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UInt32) -> Void
            unsafeBitCast(handler, to: Done.self)(data, proxy, value)
        }
    }

    func numbers(_ role: Role) -> [UInt] { proxies.filter { $0.value.role == role }.map(\.key).sorted() }

    /// Completes the pending frame callback at the next dispatch; without `time_ms`, with the present time.
    func frameIsDone(_ time_ms: UInt32? = nil) {
        guard let number = numbers(.frame).first else { return }
        let now_ms = UInt32(truncatingIfNeeded: MonotonicInstant.now.nanoseconds / 1_000_000)
        events.append { [self] in tellNumber(number, time_ms ?? now_ms) }
    }

    func present(_ time_ns: Int64, sequence: UInt64, refresh_ns: UInt32 = 16_666_666) {
        guard let number = numbers(.feedback).first else { return }
        let seconds = UInt64(time_ns / 1_000_000_000)
        events.append { [self] in
            call(number, 1) { handler, data, proxy in
                typealias Presented =
                    @convention(c) (
                        UnsafeMutableRawPointer?, OpaquePointer?, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32
                    ) -> Void
                unsafeBitCast(handler, to: Presented.self)(
                    data,
                    proxy,
                    UInt32(seconds >> 32),
                    UInt32(truncatingIfNeeded: seconds),
                    UInt32(time_ns % 1_000_000_000),
                    refresh_ns,
                    UInt32(sequence >> 32),
                    UInt32(truncatingIfNeeded: sequence),
                    7
                )
            }
        }
    }

    func discard() {
        guard let number = numbers(.feedback).first else { return }
        events.append { [self] in
            call(number, 2) { handler, data, proxy in
                typealias Discarded = @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?) -> Void
                unsafeBitCast(handler, to: Discarded.self)(data, proxy)
            }
        }
    }

    func dispatch() -> Int32 {
        if error != 0 { return -1 }
        while !events.isEmpty { events.removeFirst()() }
        return 0
    }

    func destroy(_ proxy: OpaquePointer?) { proxies[key(proxy)] = nil }

    func request(_ proxy: OpaquePointer?, _ number: UInt32) {
        if proxies[key(proxy)]?.role == .surface, number == UInt32(VS_WL_SURFACE_COMMIT) { commits += 1 }
    }

    func new(_ proxy: OpaquePointer?, _ number: UInt32) -> OpaquePointer? {
        switch proxies[key(proxy)]?.role {
        case .display: make(number == 0 ? .sync : .registry)
        case .surface: make(.frame)
        case .presentation: make(.feedback)
        default: nil
        }
    }

    private static let readable = open("/dev/null", O_RDONLY | O_CLOEXEC)

    // Safe: written once, before the first read.
    nonisolated(unsafe) static let library: UnsafePointer<vs_wl> = {
        // Never freed: sources keep the address.
        let library = UnsafeMutablePointer<vs_wl>.allocate(capacity: 1)
        library.initialize(to: vs_wl())
        // Always readable, so that nothing waits.
        library.pointee.descriptor = { _ in readable }
        library.pointee.flush = { _ in 0 }
        library.pointee.error = { _ in FakeCompositor.current.error }
        library.pointee.create_queue = { _ in OpaquePointer(bitPattern: 8) }
        library.pointee.destroy_queue = { _ in }
        library.pointee.prepare_read = { _, _ in 0 }
        library.pointee.prepare_read_own = { _ in 0 }
        library.pointee.cancel_read = { _ in }
        library.pointee.read_events = { _ in 0 }
        library.pointee.dispatch_pending = { _, _ in FakeCompositor.current.dispatch() }
        // A wrapper is the proxy itself here.
        library.pointee.create_wrapper = { $0 }
        library.pointee.destroy_wrapper = { _ in }
        library.pointee.set_queue = { _, _ in }
        library.pointee.add_listener = { proxy, handlers, data in
            FakeCompositor.current.listen(proxy, handlers, data)
            return 0
        }
        library.pointee.destroy = { FakeCompositor.current.destroy($0) }
        library.pointee.marshal = { proxy, number, _ in FakeCompositor.current.request(proxy, number) }
        library.pointee.marshal_new = { proxy, number, _, _ in FakeCompositor.current.new(proxy, number) }
        library.pointee.marshal_bind = { _, _, _, _, _ in FakeCompositor.current.make(.presentation) }
        return UnsafePointer(library)
    }()
}

/// Tests of the Wayland source on the fake library.
@Suite(.serialized) struct WaylandSourceTests {
    private var compositor: FakeCompositor { .current }

    /// Opens the source of a surface, on a compositor that `body` has changed.
    private func open(
        commits: Bool = false,
        _ body: (FakeCompositor) -> Void = { _ in }
    ) throws -> CVsyncDriver {
        let compositor = FakeCompositor()
        body(compositor)
        FakeCompositor.current = compositor
        let display = try #require(compositor.make(.display))
        var surface = WaylandSurface(display: display, surface: try #require(compositor.make(.surface)))
        surface.isCommittedBySource = commits
        surface.isReadBySource = false
        return try CVsyncDriver.wayland(surface, answerWithin_ms: 1000, library: FakeCompositor.library)
    }

    private func take(_ driver: CVsyncDriver) -> vs_sample? {
        var sample = vs_sample()
        return driver.take(&sample) == 1 ? sample : nil
    }

    private func isShown(_ sample: vs_sample?) -> Bool { sample?.flags == UInt32(VS_SHOWN) }

    @Test("A presentation is the answer, with its count; the reported rate is its own, or none if it varies")
    func presented() throws {
        let driver = try open()
        #expect(driver.toldRate == nil)
        #expect(driver.willCommit() == 0)
        for number in 0..<20 as Range<Int64> {
            #expect(driver.request(1) == 0)
            #expect(driver.request(1) == -EBUSY)
            #expect(driver.willCommit() == 1)
            #expect(driver.willCommit() == 0)
            compositor.frameIsDone()
            #expect(isShown(take(driver)))
            let time_ns = (1 << 33) * 1_000_000_000 + number * 16_666_666
            compositor.present(time_ns, sequence: 1 << 32 + UInt64(number), refresh_ns: number == 19 ? 0 : 16_666_666)
            let sample = try #require(take(driver))
            #expect(sample.time_ns == time_ns)
            #expect(sample.sequence == 1 << 32 + UInt64(number))
            #expect(sample.flags == 0)
            #expect(take(driver) == nil)
            if number == 0 { #expect(driver.toldRate == FrameRate(1_000_000_000, 16_666_666)) }
        }
        #expect(driver.toldRate == nil)
        #expect(compositor.numbers(.feedback).isEmpty && compositor.numbers(.frame).isEmpty)
        #expect(compositor.commits == 0)
    }

    @Test(
        "If presentations are never answered, eight stay pending, then frame callbacks are believed, to the millisecond"
    )
    func neverAnswered() throws {
        for commits in [false, true] {
            let driver = try open(commits: commits)
            var answers = 0
            for round in 0..<430 {
                if driver.request(1) == 0 || round < 20, !commits { _ = driver.willCommit() }
                #expect(compositor.numbers(.feedback).count <= 8)
                let before_ns = MonotonicInstant.now.nanoseconds
                compositor.frameIsDone()
                guard let sample = take(driver), !isShown(sample) else { continue }
                answers += 1
                #expect(sample.flags == UInt32(VS_NO_SEQUENCE))
                #expect(abs(sample.time_ns - before_ns) < 5_000_000_000)
            }
            #expect(answers >= 420, "\(commits)")
            #expect(compositor.commits == 0 || commits)
        }
    }

    @Test("A compositor that begins to answer is believed again")
    func answersLater() throws {
        let driver = try open()
        var sequences = 0
        for round in 0..<300 {
            _ = driver.request(1)
            _ = driver.willCommit()
            compositor.frameIsDone()
            if round > 50, compositor.numbers(.feedback).count > 0 {
                _ = take(driver)
                compositor.present(1_000_000_000 + Int64(round) * 16_666_666, sequence: UInt64(round))
            }
            if take(driver)?.flags == 0 { sequences += 1 }
        }
        #expect(sequences > 100)
    }

    @Test(
        "Without wp_presentation, or with a clock that cannot be read, frame callbacks are the answers",
        arguments: [true, false]
    )
    func framesOnly(_ hasPresentation: Bool) throws {
        let driver = try open {
            $0.hasPresentation = hasPresentation
            $0.clock = 12_345
        }
        #expect(compositor.numbers(.presentation).isEmpty)
        var (now_ms, took_ms) = (Int64(0), Int64.max)
        while took_ms > 20 {
            #expect(driver.request(1) == 0)
            #expect(driver.willCommit() == 1)
            #expect(compositor.numbers(.feedback).isEmpty)
            now_ms = MonotonicInstant.now.nanoseconds / 1_000_000
            compositor.frameIsDone(UInt32(truncatingIfNeeded: now_ms - 20))
            let sample = try #require(take(driver))
            #expect(sample.flags == UInt32(VS_NO_SEQUENCE))
            // On a busy machine it may be too long ago to be believed.
            took_ms = MonotonicInstant.now.nanoseconds / 1_000_000 - now_ms
            // The time is the middle of that millisecond.
            #expect(sample.time_ns == (now_ms - 20) * 1_000_000 + 500_000 || took_ms > 20)
        }
        // A time of another clock says nothing, so that the present time counts.
        #expect(driver.request(1) == 0)
        #expect(driver.willCommit() == 1)
        compositor.frameIsDone(UInt32(truncatingIfNeeded: now_ms + 1_000_000))
        let before_ns = MonotonicInstant.now.nanoseconds
        let second = try #require(take(driver))
        #expect((before_ns...MonotonicInstant.now.nanoseconds).contains(second.time_ns))
    }

    @Test("A discarded presentation is requested again with the next commit, as long as the window is hidden")
    func discarded() throws {
        let driver = try open()
        #expect(driver.request(1) == 0)
        #expect(driver.willCommit() == 1)
        compositor.present(1_000_000_000, sequence: 1)
        #expect(take(driver)?.sequence == 1)
        compositor.frameIsDone()
        _ = take(driver)
        #expect(driver.request(1) == 0)
        #expect(driver.willCommit() == 1)
        for _ in 0..<50 {
            // Each commit takes the place of the one before.
            compositor.discard()
            #expect(take(driver) == nil)
            #expect(driver.willCommit() == 0)
            #expect(compositor.numbers(.feedback).count == 1)
            #expect(compositor.numbers(.frame).count == 1)
        }
        // The window is shown at last; that commit's presentation was discarded, too.
        compositor.discard()
        compositor.frameIsDone()
        #expect(isShown(take(driver)))
        #expect(driver.willCommit() == 1)
        compositor.present(2_000_000_000, sequence: 120)
        #expect(take(driver)?.sequence == 120)
    }

    @Test(
        "If a compositor discards every presentation, before its frame callback, the frame callbacks are the answers",
        arguments: [false, true]
    )
    func alwaysDiscarded(_ commits: Bool) throws {
        let driver = try open(commits: commits)
        var answers = 0
        for _ in 0..<200 {
            if driver.request(1) == 0 || !commits { _ = driver.willCommit() }
            while compositor.numbers(.feedback).count > 0 {
                compositor.discard()
                #expect(take(driver) == nil)
            }
            compositor.frameIsDone()
            while let sample = take(driver) {
                guard !isShown(sample) else { continue }
                answers += 1
                #expect(sample.flags == UInt32(VS_NO_SEQUENCE))
            }
        }
        // All answers but the first eight.
        #expect(answers >= 190, "\(commits)")
    }

    @Test("A broken connection loses the source; pending requests end with it, or when it releases the surface")
    func lost() throws {
        let driver = try open()
        #expect(driver.request(1) == 0)
        #expect(driver.willCommit() == 1)
        compositor.error = EPIPE
        var sample = vs_sample()
        #expect(driver.take(&sample) == -EPIPE)
        compositor.error = 0
        #expect(compositor.numbers(.feedback).count == 1)
        driver.detach()
        driver.detach()
        #expect(compositor.numbers(.feedback).isEmpty && compositor.numbers(.frame).isEmpty)
        #expect(compositor.numbers(.presentation).isEmpty && compositor.numbers(.registry).isEmpty)
        #expect(driver.request(1) == -EPIPE)
        #expect(driver.willCommit() == 0)
        #expect(driver.take(&sample) == -EPIPE)
        #expect(throws: TimerError.self) { try open { $0.error = ECONNRESET } }
    }
}
