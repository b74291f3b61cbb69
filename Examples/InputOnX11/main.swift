// SPDX-License-Identifier: Apache-2.0
// Keys beside frames on X11: a source of the loop watches the window's connection. The calls of a frame into Xlib, XSync and
// even XFlush, also read the events that have arrived. Those are then in Xlib's memory, and the descriptor is not readable for
// them. So the frame signals the source. CX11Window is a few lines of Xlib.
import CX11Window
import Glibc
import HRTimer

var opened: OpaquePointer?
guard x11_window_open(nil, &opened) == 0, let window = opened else {
    print("there is no X server: DISPLAY names none")
    exit(0)
}
var count = 0

let input = try LoopSource(descriptor: x11_window_descriptor(window)) { _, _ in
    // XPending reads all that the connection has, without waiting.
    while x11_window_pending(window) > 0 {
        let key = x11_window_take(window)
        guard key > 0 else { continue }
        count += 1
        print("key \(key)")
        if count == 5 { TimerLoop.main.stop() }
    }
}
try TimerLoop.main.add(input, forMode: .common)

let link = DisplayLink { link in
    x11_window_draw(window)
    x11_window_sync(window)
    if x11_window_pending(window) > 0 { input.signal() }
}
link.add(to: .main, forMode: .common)

// Another client, which types.
var others: OpaquePointer?
if x11_keys_open(nil, &others) == 0, let keys = others {
    LoopTimer.scheduledHere(timeInterval: .milliseconds(50), repeats: true) { _ in x11_keys_press(keys, 38) }
}
TimerLoop.main.run(for: .seconds(10))
link.invalidate()
