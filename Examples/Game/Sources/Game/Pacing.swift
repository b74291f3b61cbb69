// SPDX-License-Identifier: Apache-2.0
import CGame
import HRTimer
import Measured

/// The game, independent of what calls its frames, and a record of when they were called.
@MainActor final class Game {
    private var world = World()
    private var behind = Duration.zero
    private(set) var frames_ns: [Int64] = []
    var picture: String?

    func frame(after delta: Duration) {
        frames_ns.append(monotonic_ns)
        // After a long break, for example in a debugger, catches up on a tenth of a second only.
        behind += min(delta, .milliseconds(100))
        while behind >= World.step {
            world.advance()
            behind -= World.step
        }
        game_draw(world.paddle, world.x, world.y)
        guard frames_ns.count == 60, let picture else { return }
        if !game_save_picture(picture) { print("no picture of the window could be saved") }
    }

    /// Returns how far each time between two frames is from the display's, without the first second, when the window opens.
    func row(_ name: String, isOurs: Bool, period_ns: Int64, _ used: Usage) -> Figures.Row {
        let steps = zip(frames_ns.dropFirst(61), frames_ns.dropFirst(60)).map { $0 - $1 }
        guard !steps.isEmpty else { fatalError("\(name): too few frames, \(frames_ns.count)") }
        return Figures.Row(
            name,
            isOurs: isOurs,
            samples_ns: steps.map { abs($0 - period_ns) },
            facts: [
                "frames a second": 1e9 * Double(steps.count) / Double(steps.reduce(0, +)),
                "frames off by half a period": Double(steps.count { abs($0 - period_ns) > period_ns / 2 }),
                "CPU a frame, ms": Double(used.cpu_ns) / 1e6 / Double(frames_ns.count),
            ]
        )
    }
}
