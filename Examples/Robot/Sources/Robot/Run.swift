// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import Measured

/// One run of the control loop: the rod, and how late each step was. One thread at a time uses it.
final class Run: @unchecked Sendable {
    // Sendable: each way calls `step` from one thread, and other threads read the results after that has ended.
    static let interval_ns: Int64 = 1_000_000
    let steps: Int
    private var pendulum = Pendulum()
    private var torque = 0.0, before = 0.05, last_ns = monotonic_ns
    private(set) var lateness_ns: [Int64] = []
    private(set) var missed = 0
    private var squares = 0.0

    init(seconds: Double) {
        steps = Int(seconds * 1000)
        lateness_ns.reserveCapacity(steps)
    }

    /// Does the robot's work. First moves the rod for the time since the last step, however long. Returns false at the end.
    func step(deadline_ns: Int64, missed: Int) -> Bool {
        let now_ns = monotonic_ns
        lateness_ns.append(now_ns - deadline_ns)
        self.missed += missed
        let elapsed = Double(now_ns - last_ns) / 1e9
        pendulum.advance(by: elapsed, torque: torque)
        torque = pendulum.control(before, max(elapsed, 1e-6))
        before = pendulum.angle
        squares += before * before
        last_ns = now_ns
        return lateness_ns.count < steps
    }

    func row(_ name: String, isOurs: Bool, _ used: Usage) -> Figures.Row {
        Figures.Row(
            name,
            isOurs: isOurs,
            samples_ns: lateness_ns,
            facts: [
                "angle, rms, mrad": (squares / Double(lateness_ns.count)).squareRoot() * 1000,
                "missed": Double(missed),
                "CPU a step, µs": Double(used.cpu_ns) / 1000 / Double(lateness_ns.count),
            ]
        )
    }
}
