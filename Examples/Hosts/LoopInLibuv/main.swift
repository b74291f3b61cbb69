// SPDX-License-Identifier: Apache-2.0
// A loop in libuv's loop: one poll handle on its descriptor, and one call when that is readable.
import CUV
import HRTimer

let loop = TimerLoop.main
loop.process()  // once at the start
let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
uv_poll_init(uv_default_loop(), handle, try loop.hostDescriptor())
uv_poll_start(handle, Int32(UV_READABLE.rawValue)) { _, _, _ in TimerLoop.main.process() }

let end = MonotonicInstant.now.advanced(by: .milliseconds(50))
loop.add(
    LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
        print("late by", timer.fireInstant.duration(to: .now))
        if timer.fireInstant >= end { uv_stop(uv_default_loop()) }
    },
    forMode: .default
)
uv_run(uv_default_loop(), UV_RUN_DEFAULT)
