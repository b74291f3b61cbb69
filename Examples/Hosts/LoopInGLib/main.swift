// SPDX-License-Identifier: Apache-2.0
// A loop in GLib's main loop, which GTK uses too: timers, the main queue and main actor tasks run beside GLib's own sources.
import CGLib
import Dispatch
import HRTimer

let loop = TimerLoop.main
loop.process()  // once at the start
let watch = g_unix_fd_add(
    try loop.hostDescriptor(),
    G_IO_IN,
    { _, _, _ in
        TimerLoop.main.process()
        return 1  // G_SOURCE_CONTINUE
    },
    nil
)
// A dialog that a handler opens runs a nested main loop: without this call the timers would stop during the dialog.
g_source_set_can_recurse(g_main_context_find_source_by_id(nil, watch), 1)

let main = g_main_loop_new(nil, 0)
let end = MonotonicInstant.now.advanced(by: .milliseconds(50))
loop.add(
    LoopTimer(timeInterval: .milliseconds(10), repeats: true) { @MainActor timer in
        print("late by", timer.fireInstant.duration(to: .now))
        if timer.fireInstant >= end { g_main_loop_quit(main) }
    },
    forMode: .default
)
DispatchQueue.main.async { print("a block of the main queue") }
Task { @MainActor in print("a task of the main actor") }
g_main_loop_run(main)
