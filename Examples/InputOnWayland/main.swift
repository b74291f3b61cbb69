// SPDX-License-Identifier: Apache-2.0
// Events beside frames on Wayland: a source of the application's loop watches its connection, and a VsyncSource follows one of
// its surfaces on the same connection. The VsyncSource reads only when there is something to read, dispatches only its own
// events, and wakes the application's source for those of the application, which need do nothing for that. CWaylandWindow is a
// few lines of libwayland-client. A library with its own event queue, such as EGL, may also read the application's events
// during a frame; they are found after the frame.
import CWaylandWindow
import Glibc
import HRTimer

var opened: OpaquePointer?
guard wayland_window_open(nil, &opened) == 0, let window = opened else {
    print("there is no Wayland compositor: WAYLAND_DISPLAY names none")
    exit(0)
}
nonisolated(unsafe) var count = 0

// Calls wl_display_dispatch, which calls the listeners of keyboards and pointers.
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

// Replaces a user who types: the compositor's answers arrive like key events.
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
