// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimer

/// One run of `bench vsync`: sources one after the other, on the thread that calls `run`.
final class VsyncSession {
    /// In the order in which the sources are looked for.
    private(set) var results: [VsyncResult] = []
    /// The source that links without a rate would follow here.
    private(set) var chosen: VsyncSource?
    private(set) var wasInterrupted = false
    private let kinds: [VsyncSource.Kind]
    private let rate: FrameRate
    private let seconds: Double

    init(_ kinds: [VsyncSource.Kind], rate: FrameRate, seconds: Double) {
        self.kinds = kinds
        self.rate = rate
        self.seconds = seconds
    }

    func run() {
        for kind in kinds where !cbench_stop_requested() {
            do {
                results.append(try open(kind))
            } catch {
                results.append(VsyncResult(kind: kind, refusal: "\(error)"))
            }
        }
        chosen = .shared
        wasInterrupted = cbench_stop_requested()
    }

    private func open(_ kind: VsyncSource.Kind) throws -> VsyncResult {
        switch kind {
        case .virtual: return try measure(VsyncSource(frameRate: rate))
        case .x11: return try measure(.x11())
        case .drm: return try measure(.drm())
        case .wayland:
            let window = try WaylandWindow()
            let source = try VsyncSource.wayland(window.surface)
            // Before the window is closed.
            defer { source.detach() }
            return try measure(source) { window.draw(source) }
        }
    }

    /// The longest time to wait for a rate to be learned.
    private static let learning: Duration = .seconds(3)

    private func measure(_ source: VsyncSource, draw: @escaping @Sendable () -> Void = {}) throws -> VsyncResult {
        let ticks = VsyncTicks(room: Int(seconds * FrameRate.bounds.upperBound))
        let loop = TimerLoop()
        let link = DisplayLink(source: source) { link in
            let called_ns = cbench_now_ns()
            ticks.note(called_ns, of: link)
            draw()
            if cbench_stop_requested() { loop.stop() }
        }
        link.add(to: loop, forMode: .default)
        // The rate of a virtual display is known; it gets half a second for the first calls.
        let known: [VsyncSource.State] = [.virtual, .locked]
        let limit = loop.now.advanced(by: Self.learning)
        repeat {
            loop.run(until: loop.now.advanced(by: .milliseconds(500)))
        } while !known.contains(source.state) && loop.now < limit && !cbench_stop_requested()
        defer { link.invalidate() }
        let droppedBefore = link.droppedFrames
        let kernel = try besideKernel(link) {
            ticks.begin()
            loop.run(until: loop.now.advanced(by: .nanoseconds(Int64(seconds * 1e9))))
            ticks.end()
        }
        return VsyncResult(source, link, ticks, dropped: link.droppedFrames - droppedBefore, kernel)
    }

    /// Runs `body` while the kernel's ticks are measured. Returns nil if the time is too short for one period.
    private func besideKernel(_ link: DisplayLink, _ body: () -> Void) throws -> KernelTicks? {
        let period_ns = Int64((1e9 / link.maximumFramesPerSecond).rounded())
        let refresh_ns = link.timestamp.nanoseconds
        let periods = Int(seconds * 1e9) / Int(period_ns)
        guard periods > 0 else {
            body()
            return nil
        }
        return try withThread({ try KernelTicks.measure(periods, of: period_ns, since: refresh_ns) }, beside: body).1
    }
}

/// The refreshes that a link was called for, and the times of the calls. Used only on the loop's thread; all memory is
/// allocated before the first call.
final class VsyncTicks: @unchecked Sendable {
    // Sendable: handler and reader are on one thread.
    private(set) var all: [(refresh_ns: Int64, called_ns: Int64)] = []
    private var isOn = false

    init(room: Int) {
        // Written once: a page fault at the first touch would add lateness that is our own.
        all = Array(repeating: (0, 0), count: room)
        all.removeAll(keepingCapacity: true)
    }

    func begin() { isOn = true }

    func end() { isOn = false }

    func note(_ called_ns: Int64, of link: DisplayLink) {
        guard isOn, all.count < all.capacity else { return }
        all.append((link.timestamp.nanoseconds, called_ns))
    }
}
