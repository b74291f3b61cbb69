// SPDX-License-Identifier: Apache-2.0
/// Two paddles, of which one mirrors the other, and a ball. They advance in fixed steps.
struct World: Sendable {
    static let step = Duration.milliseconds(2)
    private(set) var paddle = 0.5
    private(set) var x = 0.5, y = 0.5
    private var speed = (x: 0.6, y: 0.35)

    mutating func advance() {
        let seconds = 0.002
        x += speed.x * seconds
        y += speed.y * seconds
        if x < 0.06 || x > 0.94 { speed.x = x < 0.5 ? abs(speed.x) : -abs(speed.x) }
        if y < 0.03 || y > 0.97 { speed.y = y < 0.5 ? abs(speed.y) : -abs(speed.y) }
        paddle += (y - paddle) * seconds * 6
    }
}
