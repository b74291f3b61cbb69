// SPDX-License-Identifier: Apache-2.0
import CVsync
import Glibc
import HRTimerCore
import HRTimerTesting

@testable import HRTimer

/// A display on virtual time, and the server that reports its refreshes, with the faults that real ones showed.
final class FakeDisplay: VsyncDriver, @unchecked Sendable {
    // Sendable: only the test's thread advances the clock, and it runs the loop, too.
    /// A stuck server reports its latest refresh for ever.
    enum Mood { case well, asleep, off, silent, stuck, dead }

    /// Who makes the commits that carry a surface's requests; nil for a display that is asked directly.
    var commits: SurfaceCommits?
    /// Whether a request waits for the next commit.
    private var isWanted = false
    /// Whether the compositor holds a request back because the surface is hidden.
    private var isHeldBack = false
    private(set) var isDetached = false

    let time: ManualTime
    private let engine: TimerEngine
    private let loop: TimerLoop
    let descriptor: Int32
    private let writeEnd: Int32
    var timeID: TimeID { time.base.id }
    var toldRate: FrameRate?
    private(set) var period_ns: Double
    var phase_ns = 3_000_000.0
    /// The instants of refreshes that are on no grid, and the number of the first of them.
    private var irregular: (first: Int64, instants_ns: [Double])?
    var mood = Mood.well
    /// Whether the display numbers its refreshes.
    var countsRefreshes = true
    /// The instants of the requests.
    private(set) var requests_ns: [Int64] = []
    private var answers: [vs_sample] = []
    private var last: Int64 = 0
    private var pending: TimerToken?

    init(_ framesPerSecond: Double, _ time: ManualTime, _ loop: TimerLoop, reported: FrameRate? = nil) throws {
        self.time = time
        self.loop = loop
        engine = try TimerEngine(.init(time: time.base))
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw TimerError(operation: "make a pipe", errorNumber: errno) }
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        (descriptor, writeEnd) = (ends[0], ends[1])
        period_ns = 1e9 / framesPerSecond
        toldRate = reported
    }

    deinit {
        close(descriptor)
        close(writeEnd)
    }

    /// Changes the rate from the latest refresh on; the count goes on.
    func setRate(_ framesPerSecond: Double) {
        let (number, latest_ns) = (latest, Double(instant_ns(latest)))
        period_ns = 1e9 / framesPerSecond
        phase_ns = latest_ns - Double(number) * period_ns
    }

    func source(reopen: (@Sendable () throws(TimerError) -> any VsyncDriver)? = nil) -> VsyncSource {
        VsyncSource(kind: commits == nil ? .x11 : .wayland, driver: self, reopen: reopen)
    }

    /// Spaces the next refreshes by these steps, as on a screen of variable rate; afterwards the rate is steady again.
    func vary(_ steps_ns: [Double], then framesPerSecond: Double) {
        // A refresh that was requested keeps its instant.
        let begin = max(latest, last) + 1
        let instants_ns = steps_ns.reduce(into: [Double(instant_ns(begin))]) { $0.append($0[$0.count - 1] + $1) }
        irregular = (begin, instants_ns)
        period_ns = 1e9 / framesPerSecond
        phase_ns = instants_ns[instants_ns.count - 1] - Double(begin + Int64(steps_ns.count)) * period_ns
    }

    func instant_ns(_ number: Int64) -> Int64 {
        if let irregular, number >= irregular.first, number - irregular.first < irregular.instants_ns.count {
            return Int64(irregular.instants_ns[Int(number - irregular.first)].rounded())
        }
        return Int64((phase_ns + Double(number) * period_ns).rounded())
    }

    var latest: Int64 {
        let now_ns = Double(time.now.nanoseconds)
        if let irregular, let end_ns = irregular.instants_ns.last, now_ns < end_ns {
            return irregular.first - 1 + Int64(irregular.instants_ns.prefix { $0 <= now_ns }.count)
        }
        return Int64(((now_ns - phase_ns) / period_ns).rounded(.down))
    }

    /// Returns how far `instant` is from the display's nearest refresh.
    func error_ns(_ instant: MonotonicInstant) -> Int64 {
        let number = ((Double(instant.nanoseconds) - phase_ns) / period_ns).rounded()
        return abs(instant.nanoseconds - instant_ns(Int64(number)))
    }

    func request(_ refreshes: Int64) -> Int32 {
        guard commits == .application else { return send(refreshes) }
        isWanted = true
        return mood == .dead ? -EPIPE : 0
    }

    func willCommit() -> Int32 {
        guard commits == .application, isWanted else { return 0 }
        isWanted = false
        return send(1) == 0 ? 1 : 0
    }

    func detach() {
        mood = .dead
        isDetached = true
    }

    /// Shows the surface again. A request from before is answered at the next refresh.
    func show() {
        mood = .well
        if isHeldBack { _ = send(1) }
        isHeldBack = false
    }

    private func send(_ refreshes: Int64) -> Int32 {
        requests_ns.append(time.now.nanoseconds)
        switch mood {
        case .dead: return -EPIPE
        case .off: return -EINVAL
        case .silent:
            isHeldBack = true
            return 0
        case .asleep: answer(vs_sample(time_ns: 0, sequence: UInt64(last), flags: UInt32(VS_BOGUS)))
        case .stuck: engine.schedule(at: time.now.advanced(by: .milliseconds(1))) { [self] _ in answerAgain() }
        case .well:
            var next = max(last + refreshes, latest + 1)
            // A commit just before a refresh is shown at the following one.
            if commits == .application, instant_ns(next) - time.now.nanoseconds < 100_000 { next += 1 }
            tell(next)
        }
        return 0
    }

    /// Answers with that refresh when it has passed.
    private func tell(_ number: Int64) {
        engine.schedule(at: MonotonicInstant(nanoseconds: instant_ns(number) + 80_000)) { [self] _ in
            if mood == .asleep || mood == .off {
                // A pending request is answered, too, but without a refresh.
                answer(vs_sample(time_ns: 0, sequence: UInt64(last), flags: UInt32(VS_BOGUS)))
            }
            if mood == .stuck { answerAgain() }
            if mood == .silent { isHeldBack = true }
            guard mood == .well else { return }
            // The display has become slower meanwhile.
            if number > latest { return tell(number) }
            last = number
            let flags = countsRefreshes ? 0 : UInt32(VS_NO_SEQUENCE)
            answer(vs_sample(time_ns: instant_ns(number), sequence: UInt64(number), flags: flags))
        }
    }

    private func answerAgain() {
        answer(vs_sample(time_ns: instant_ns(last), sequence: UInt64(last), flags: 0))
    }

    private func answer(_ sample: vs_sample) {
        answers.append(sample)
        signal()
    }

    private func signal() {
        _ = write(writeEnd, "!", 1)
        loop.wakeUp()
    }

    /// Ends the server.
    func die() {
        mood = .dead
        signal()
    }

    func take(_ sample: inout vs_sample) -> Int32 {
        if mood == .dead { return -EPIPE }
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &bytes, bytes.count) > 0 {}
        guard !answers.isEmpty else { return 0 }
        sample = answers.removeFirst()
        return 1
    }
}
