import Glibc

/// A rod that stands on its end, with a motor at its foot: it falls unless the motor acts, every millisecond.
struct Pendulum: Sendable {
    private(set) var angle = 0.05
    private var speed = 0.0
    /// Pushes, the same in each run.
    private var random: UInt64 = 2026

    /// Goes on for a while, the motor's torque being what it is. In steps that are short beside what a rod does.
    mutating func advance(by seconds: Double, torque: Double) {
        var left = seconds
        while left > 0 {
            let step = min(left, 0.0002)
            // A rod of half a metre, and a push now and then.
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let push = Double(Int64(bitPattern: random) >> 40) / Double(1 << 23)
            let acceleration = 29.4 * sin(angle) + torque + 40 * push
            speed += acceleration * step
            angle += speed * step
            left -= step
        }
    }

    /// What a controller sees, and asks of the motor.
    func control(_ before: Double, _ interval: Double) -> Double { -400 * angle - 30 * (angle - before) / interval }
}
