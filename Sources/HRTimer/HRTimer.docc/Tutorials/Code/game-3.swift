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

func draw(_ height: Double) {
    print(String(repeating: " ", count: Int(height * 4)) + "o")
}

var ball = Ball()
var before = ball
var frames = 0
let step = Duration.milliseconds(2)
var behind = Duration.zero

let link = DisplayLink(framesPerSecond: 240) { link in
    behind += min(link.delta, link.duration * 10)
    while behind >= step {
        before = ball
        ball.step(0.002)
        behind -= step
    }
    let part = behind / step
    if frames % 24 == 0 {
        draw(before.height + (ball.height - before.height) * part)
    }
    frames += 1
}
link.add(to: .main, forMode: .common)
TimerLoop.main.run(for: 2)
link.invalidate()
