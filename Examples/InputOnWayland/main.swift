// Events beside frames on Wayland: the application watches its connection by a source of its loop, and a VsyncSource follows one
// of its surfaces on the same connection. That reads only when there is something, dispatches its own events alone, and wakes the
// application's source for what it has read of the application's: nothing is to be done for it. CWaylandWindow is a few lines of
// libwayland-client; who reads with a queue of his own, as EGL does, may read the application's events too, in the frame, and
// they are found after it.
import CWaylandWindow
import Glibc
import HRTimer

var opened: OpaquePointer?
guard wayland_window_open(nil, &opened) == 0, let window = opened else {
    print("there is no Wayland compositor: WAYLAND_DISPLAY names none")
    exit(0)
}
nonisolated(unsafe) var count = 0

// wl_display_dispatch, which calls the listeners of keyboards and pointers.
let input = try LoopSource(descriptor: wayland_window_descriptor(window)) { _, _ in
    if wayland_window_dispatch(window) != 0 { TimerLoop.main.stop() }
}
try TimerLoop.main.add(input, forMode: .common)

let surface = WaylandSurface(
    display: OpaquePointer(wayland_window_display(window)),
    surface: OpaquePointer(wayland_window_surface(window))
)
let source = try VsyncSource.wayland(surface)
let link = DisplayLink(source: source) { link in
    source.willCommit()
    wayland_window_draw(window)
}
link.add(to: .main, forMode: .common)

// In place of somebody who types: answers of the compositor's come as keys do.
LoopTimer.scheduledHere(timeInterval: .milliseconds(50), repeats: true) { _ in
    _ = wayland_window_ask(
        window,
        { _ in
            count += 1
            print("answer \(count)")
            if count == 5 { TimerLoop.main.stop() }
        },
        nil
    )
}
TimerLoop.main.run(for: .seconds(10))
link.invalidate()
source.detach()
