// SPDX-License-Identifier: Apache-2.0
import CVsync
import Glibc
import HRTimerCore
import TestSupport
import TestTraits
import Testing

@testable import HRTimer

/// A fake of the kernel's part in the calls of `vs_drm_open`, with answers that vkms was seen to give. There is one at a time,
/// because C functions capture nothing.
private struct FakeCard: Sendable {
    var openError: Int32?
    var isMonotonic: UInt64 = 1
    var hasQueue = true
    var hasVBlank = true
    /// Whether each CRTC is on, by its id.
    var isOn: [UInt32: Bool] = [31: false, 35: true]
    var sequence: UInt64 = 229
    /// The descriptor of the write end of the opened card.
    var events: Int32 = -1
    var queued: vs_drm_queue_sequence?
    var waited: vs_drm_wait_vblank?

    static let current = Locked(FakeCard())

    // Safe: written once, before the first read.
    nonisolated(unsafe) static let calls: UnsafePointer<vs_drm_calls> = {
        // Never freed: sources keep the address.
        let calls = UnsafeMutablePointer<vs_drm_calls>.allocate(capacity: 1)
        calls.initialize(
            to: vs_drm_calls(
                open: { _ in FakeCard.current.withLock { $0.open() } },
                ioctl: { _, number, argument in FakeCard.current.withLock { $0.ioctl(number, argument) } },
                read: { Glibc.read($0, $1, $2) }
            )
        )
        return UnsafePointer(calls)
    }()

    mutating func open() -> Int32 {
        if let openError { return fail(openError) }
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return -1 }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        events = ends[1]
        return ends[0]
    }

    private func fail(_ error: Int32) -> Int32 {
        errno = error
        return -1
    }

    mutating func ioctl(_ number: Int32, _ argument: UnsafeMutableRawPointer) -> Int32 {
        switch Int(number) {
        case VS_DRM_GET_CAP: argument.assumingMemoryBound(to: vs_drm_cap.self).pointee.value = isMonotonic
        case VS_DRM_MODE_GETRESOURCES:
            let resources = argument.assumingMemoryBound(to: vs_drm_resources.self)
            let ids = UnsafeMutablePointer<UInt32>(bitPattern: UInt(resources.pointee.crtc_ids))
            for (place, id) in isOn.keys.sorted().enumerated() { ids?[place] = id }
            resources.pointee.crtcs = UInt32(isOn.count)
        case VS_DRM_MODE_GETCRTC:
            let crtc = argument.assumingMemoryBound(to: vs_drm_crtc.self)
            guard isOn[crtc.pointee.crtc_id] == true else { return 0 }
            crtc.pointee.mode_valid = 1
            crtc.pointee.mode.clock_khz = 65_000
            (crtc.pointee.mode.htotal, crtc.pointee.mode.vtotal) = (1344, 806)
        case VS_DRM_CRTC_GET_SEQUENCE:
            let now = argument.assumingMemoryBound(to: vs_drm_get_sequence.self)
            guard hasQueue else { return fail(EOPNOTSUPP) }
            guard isOn[now.pointee.crtc_id] == true else { return fail(EINVAL) }
            (now.pointee.active, now.pointee.sequence) = (1, sequence)
        case VS_DRM_CRTC_QUEUE_SEQUENCE:
            let request = argument.assumingMemoryBound(to: vs_drm_queue_sequence.self).pointee
            guard isOn[request.crtc_id] == true else { return fail(EINVAL) }
            queued = request
        case VS_DRM_WAIT_VBLANK:
            let request = argument.assumingMemoryBound(to: vs_drm_wait_vblank.self).pointee
            guard hasVBlank else { return fail(EOPNOTSUPP) }
            if request.type & UInt32(VS_DRM_VBLANK_EVENT) != 0 { waited = request }
        default: return fail(ENOTTY)
        }
        return 0
    }

    /// Sends the event of the refresh that was requested last.
    mutating func tell(_ sequence: UInt64, _ time_ns: Int64) {
        var event = vs_drm_event()
        event.length = UInt32(MemoryLayout<vs_drm_event>.size)
        if let queued {
            event.type = UInt32(VS_DRM_EVENT_CRTC_SEQUENCE)
            event.user_data = queued.user_data
            (event.crtc.time_ns, event.crtc.sequence) = (time_ns, sequence)
        } else if let waited {
            event.type = UInt32(VS_DRM_EVENT_VBLANK)
            event.user_data = UInt64(waited.signal)
            event.vblank.tv_sec = UInt32(time_ns / 1_000_000_000)
            event.vblank.tv_usec = UInt32(time_ns % 1_000_000_000 / 1000)
            event.vblank.sequence = UInt32(truncatingIfNeeded: sequence)
        }
        _ = write(events, &event, MemoryLayout<vs_drm_event>.size)
    }
}

/// Tests of the DRM source on the fake kernel.
@Suite(.serialized) struct DRMSourceTests {
    /// Opens a card that `body` has changed.
    private func open(_ body: (inout FakeCard) -> Void = { _ in }) throws -> CVsyncDriver {
        FakeCard.current.withLock { card in
            card = FakeCard()
            body(&card)
        }
        return try CVsyncDriver.drm("/dev/dri/card0", calls: FakeCard.calls)
    }

    private func change(_ body: (inout FakeCard) -> Void) { FakeCard.current.withLock { body(&$0) } }

    private func errorNumber(_ body: (inout FakeCard) -> Void) -> Int32? {
        do {
            _ = try open(body)
            return nil
        } catch { return (error as? TimerError)?.errorNumber }
    }

    @Test("The first CRTC that is on is watched, and its mode's rate is exact")
    func mode() throws {
        let driver = try open()
        #expect(driver.toldRate == FrameRate(65_000_000, 1344 * 806))
        #expect(driver.request(1) == 0)
        let queued = FakeCard.current.withLock { $0.queued }
        #expect(queued?.crtc_id == 35)
        #expect(queued?.flags == UInt32(VS_DRM_SEQUENCE_RELATIVE | VS_DRM_SEQUENCE_NEXT_ON_MISS))
        #expect(driver.request(1) == -EBUSY)
    }

    @Test(
        "Each request gets one sample; later requests are for absolute refreshes, and a sample's number tells a miss"
    )
    func samples() throws {
        let driver = try open()
        var sample = vs_sample()
        #expect(driver.take(&sample) == 0)
        for (step, sequence) in [(1, 230), (1, 231), (24, 255), (1, 258)] as [(Int64, UInt64)] {
            #expect(driver.request(step) == 0)
            change { $0.tell(sequence, Int64(sequence) * 16_665_600) }
            #expect(driver.take(&sample) == 1)
            #expect(sample.sequence == sequence)
            #expect(sample.time_ns == Int64(sequence) * 16_665_600)
            #expect(sample.flags == 0)
            #expect(driver.take(&sample) == 0)
        }
        #expect(FakeCard.current.withLock { $0.queued?.sequence } == 256)
        #expect(FakeCard.current.withLock { $0.queued?.flags } == UInt32(VS_DRM_SEQUENCE_NEXT_ON_MISS))
    }

    @Test("A CRTC that is switched off answers with too low a number, which is no refresh, then EINVAL until it is on")
    func off() throws {
        let driver = try open()
        var sample = vs_sample()
        #expect(driver.request(1) == 0)
        change { $0.tell(230, 1_000_000_000) }
        #expect(driver.take(&sample) == 1)
        #expect(driver.request(60) == 0)
        change { card in
            card.isOn[35] = false
            card.tell(229, 1_001_000_000)
        }
        #expect(driver.take(&sample) == 1)
        #expect(sample.flags == UInt32(VS_BOGUS))
        #expect(driver.request(1) == -EINVAL)
        change { $0.isOn[35] = true }
        #expect(driver.request(1) == 0)
        // The count is another one, maybe lower.
        change { $0.tell(3, 9_000_000_000) }
        #expect(driver.take(&sample) == 1)
        #expect(sample.flags == 0)
        #expect(sample.sequence == 3)
    }

    @Test("Without CRTC_QUEUE_SEQUENCE the source uses the old ioctl, whose 32-bit count wraps")
    func oldCall() throws {
        let driver = try open { $0.hasQueue = false }
        var sample = vs_sample()
        #expect(driver.request(1) == 0)
        change { $0.tell(0xffff_ffff, 5_000_001_000) }
        #expect(driver.take(&sample) == 1)
        #expect(sample.time_ns == 5_000_001_000)
        #expect(driver.request(1) == 0)
        // The second of the card's CRTCs.
        #expect(FakeCard.current.withLock { $0.waited.map { $0.type >> UInt32(VS_DRM_VBLANK_CRTC_SHIFT) & 0x1f } } == 1)
        change { $0.tell(0x1_0000_0000, 5_016_000_000) }
        #expect(driver.take(&sample) == 1)
        #expect(sample.sequence == 0x1_0000_0000)
        #expect(sample.flags == 0)
    }

    @Test("A card that cannot be used is refused: no permission, no CRTC on, no count, another clock")
    func refused() {
        #expect(errorNumber { $0.openError = EACCES } == EACCES)
        #expect(errorNumber { $0.isOn = [31: false] } == ENXIO)
        #expect(errorNumber { $0.isOn = [:] } == ENXIO)
        #expect(errorNumber { $0.isMonotonic = 0 } == ENOTSUP)
        #expect(errorNumber { ($0.hasQueue, $0.hasVBlank) = (false, false) } == ENOTSUP)
        #expect(errorNumber { _ in } == nil)
    }

    @Test("A card that is unplugged is lost")
    func unplugged() throws {
        let driver = try open()
        var sample = vs_sample()
        #expect(driver.request(1) == 0)
        // End of file comes nearest to ENODEV. A close would not do: child processes of other tests hold the descriptor, too.
        change { shutdown($0.events, Int32(SHUT_RDWR)) }
        #expect(driver.take(&sample) == -ENODEV)
    }

    @Test("A link follows a card", .ownThread)
    func link() throws {
        let driver = try open()
        let source = VsyncSource(kind: .drm, driver: driver, reopen: nil)
        let loop = TimerLoop()
        let link = DisplayLink(source: source) { _ in }
        link.add(to: loop, forMode: .default)
        // The kernel's part: a refresh every 10 ms, reported when it has passed.
        let kernel = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
            let time_ns = timer.fireInstant.nanoseconds
            FakeCard.current.withLock { card in
                guard card.queued != nil else { return }
                card.sequence = UInt64(time_ns / 10_000_000)
                let isDue = card.queued.map { $0.flags & 1 == 1 || $0.sequence <= card.sequence } ?? false
                if isDue { card.tell(card.sequence, time_ns) }
            }
        }
        loop.add(kernel, forMode: .default)
        loop.run(until: .now.advanced(by: .milliseconds(700)))
        // A loop that other work delays may have had no answer recently.
        #expect([.locked, .coasting].contains(source.state))
        #expect(abs(source.framesPerSecond - 100) < 0.5)
        link.invalidate()
        kernel.invalidate()
    }
}
