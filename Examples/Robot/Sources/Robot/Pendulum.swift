// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A rod that stands on its end, with a motor at its foot. It falls unless the motor acts every millisecond.
struct Pendulum: Sendable {
    private(set) var angle = 0.05
    private var speed = 0.0
    /// The state of the random pushes, which are the same in each run.
    private var random: UInt64 = 2026

    /// Lets time pass with a constant torque of the motor, in steps that are short compared with the rod's motion.
    mutating func advance(by seconds: Double, torque: Double) {
        var left = seconds
        while left > 0 {
            let step = min(left, 0.0002)
            // A rod of half a metre, with random pushes.
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let push = Double(Int64(bitPattern: random) >> 40) / Double(1 << 23)
            let acceleration = 29.4 * sin(angle) + torque + 40 * push
            speed += acceleration * step
            angle += speed * step
            left -= step
        }
    }

    /// Returns the torque that the controller requests of the motor, by the angle and its change.
    func control(_ before: Double, _ interval: Double) -> Double { -400 * angle - 30 * (angle - before) / interval }
}
