// SPDX-License-Identifier: Apache-2.0
// A loop in the frames of SDL: due timers are called once per frame. For calls between frames wait for the descriptor, as
// LoopInFrames does, or run the loop on a thread of its own.
import CSDL
import HRTimer

SDL_SetHint(SDL_HINT_VIDEODRIVER, "dummy")  // for this example only: an application leaves it out
guard SDL_Init(SDL_INIT_VIDEO) == 0 else { fatalError(String(cString: SDL_GetError())) }
let loop = TimerLoop.main
let end = MonotonicInstant.now.advanced(by: .milliseconds(50))
let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
    print("late by", timer.fireInstant.duration(to: .now))
    if timer.fireInstant >= end { timer.invalidate() }
}
loop.add(timer, forMode: .default)
while timer.isValid {
    var event = SDL_Event()
    while SDL_PollEvent(&event) != 0 {}
    loop.process()
    SDL_Delay(4)  // or SDL_RenderPresent with vsync
}
SDL_Quit()
