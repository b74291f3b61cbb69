// A game that advances its world in fixed steps, and draws it once per refresh, interpolated between two steps.
import HRTimer

struct Ball {
    var height = 10.0
    var speed = 0.0

    mutating func step(_ seconds: Double) {
        speed -= 9.81 * seconds
        height += speed * seconds
        if height < 0 { (height, speed) = (-height, -0.8 * speed) }
    }
}

final class Game: @unchecked Sendable {
    // Sendable: used only on the loop's thread.
    private let step = Duration.milliseconds(8)
    private var behind = Duration.zero
    private var (before, ball) = (Ball(), Ball())
    private(set) var (steps, frames) = (0, 0)

    func frame(_ link: DisplayLink) {
        // After a long break, for example in a debugger, catches up on at most ten frames.
        behind += min(link.delta, link.duration * 10)
        while behind >= step {
            before = ball
            ball.step(0.008)
            behind -= step
            steps += 1
        }
        let part = behind / step
        draw(before.height + (ball.height - before.height) * part)
        frames += 1
    }

    private func draw(_ height: Double) {
        if frames % 20 == 0 { print(String(repeating: " ", count: Int(height * 4)) + "o") }
    }
}

let game = Game()
let link = DisplayLink(weakTarget: game, action: Game.frame)
link.add(to: .main, forMode: .default)
TimerLoop.main.run(until: TimerLoop.main.now.advanced(by: .seconds(2)))
link.invalidate()
print("\(game.steps) steps in \(game.frames) frames, \(link.droppedFrames) dropped")
