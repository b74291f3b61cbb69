// SPDX-License-Identifier: Apache-2.0
// A game in an SDL window, on X11 or Wayland. A display link, SDL_Delay and SDL's own vsync call its frames in turn.
import CGame
import Glibc
import HRTimer
import Measured

let seconds = number("seconds", 10)
let folder = option("output") ?? "."

/// Opens the window, plays with `body`, and closes the window.
@MainActor func play(vsync: Bool = false, _ body: (Game) throws -> Void) rethrows -> (Game, Usage) {
    if let error = game_open(vsync) {
        print("no window: \(String(cString: error)). Set DISPLAY or WAYLAND_DISPLAY, or run `make game`.")
        exit(1)
    }
    defer { game_close() }
    let game = Game()
    let before = Usage.now()
    try body(game)
    return (game, Usage.now() - before)
}

/// The usual game loop: `wait` determines the time between two frames.
@MainActor func loop(_ game: Game, wait: () -> Void) {
    let end_ns = monotonic_ns + Int64(seconds * 1e9)
    var last_ns = monotonic_ns
    while monotonic_ns < end_ns, !game_poll() {
        let now_ns = monotonic_ns
        game.frame(after: .nanoseconds(now_ns - last_ns))
        last_ns = now_ns
        wait()
    }
}

var driver = ""
var period_ns: Int64 = 16_666_667
var found = ""
let (linked, linkUsage) = try play { game in
    driver = String(cString: game_driver())
    if let path = option("screenshot") { game.picture = path }
    let source: VsyncSource
    if let display = game_wayland_display(), let surface = game_wayland_surface() {
        source = try .wayland(WaylandSurface(display: OpaquePointer(display), surface: OpaquePointer(surface)))
    } else {
        source = .shared
    }
    let link = DisplayLink(source: source) { link in
        if game_poll() { TimerLoop.main.stop() }
        source.willCommit()
        game.frame(after: link.delta)
    }
    link.precision = .precise
    link.add(to: .main, forMode: .common)
    TimerLoop.main.run(for: seconds)
    link.invalidate()
    period_ns = Int64(source.period / .nanoseconds(1))
    found = "\(source.kind.rawValue), \(source.state.rawValue)"
    for refusal in source.refusals { print("not taken: \(refusal)") }
    source.detach()
}
let (delayed, delayUsage) = play { game in loop(game) { game_delay_ms(16) } }
let (synced, syncUsage) = play(vsync: true) { game in loop(game) {} }

print("SDL on \(driver); the link's refreshes are of: \(found), every \(Double(period_ns) / 1e6) ms")
var rows = [
    delayed.row("SDL_Delay(16)", isOurs: false, period_ns: period_ns, delayUsage),
    synced.row("SDL's vsync", isOurs: false, period_ns: period_ns, syncUsage),
    linked.row("DisplayLink", isOurs: true, period_ns: period_ns, linkUsage),
]
try Figures(
    "Game",
    quantity: "deviation of the time between two frames from the display's, SDL on \(driver)",
    rows: rows
)
.publish(to: folder)
