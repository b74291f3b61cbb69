import HRTimer

let link = DisplayLink(framesPerSecond: 240) { link in
    print(link.timestamp)
}
link.add(to: .main, forMode: .common)
TimerLoop.main.run(for: 0.1)
link.invalidate()
