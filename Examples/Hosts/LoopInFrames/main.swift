// SPDX-License-Identifier: Apache-2.0
// A loop in a game engine that polls between its frames, like Godot: calls come at their deadlines, also between two frames. If
// the engine's poll takes no further descriptors, call process() once per frame, as LoopInSDL does.
import CFrameLoop
import HRTimer

let loop = TimerLoop.main
let end = MonotonicInstant.now.advanced(by: .milliseconds(50))
let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
    print("late by", timer.fireInstant.duration(to: .now))
    if timer.fireInstant >= end { timer.invalidate() }
}
loop.add(timer, forMode: .default)
loop.process()  // once at the start
var host = frame_loop(
    fd: try loop.hostDescriptor(),
    on_ready: { _ in TimerLoop.main.process() },
    on_frame: { context in context!.assumingMemoryBound(to: Int.self).pointee < 10 && draw(context!) },
    context: nil,
    frame_ns: 16_666_667
)
func draw(_ frames: UnsafeMutableRawPointer) -> Bool {
    frames.assumingMemoryBound(to: Int.self).pointee += 1
    return true
}
var frames = 0
withUnsafeMutablePointer(to: &frames) { frames in
    host.context = UnsafeMutableRawPointer(frames)
    frame_loop_run(&host)
}
