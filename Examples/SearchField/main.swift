// SPDX-License-Identifier: Apache-2.0
// A search that begins when the user pauses typing, with OpenCombine: `swift run --traits OpenCombine SearchField`.
#if canImport(OpenCombine)
import HRTimer
import OpenCombine

let loop = TimerLoop.current
let text = PassthroughSubject<String, Never>()
let search =
    text
    .debounce(for: .milliseconds(50), scheduler: loop.ocombine)
    .sink { text in print("search for \(text)") }

// Types a key every ten milliseconds.
var keys = "timer".map(String.init)
var typed = ""
let typing = loop.ocombine.schedule(after: loop.ocombine.now, interval: .milliseconds(10)) {
    guard !keys.isEmpty else { return }
    typed += keys.removeFirst()
    text.send(typed)
}

// Delayed on an engine's thread, and received in the loop.
let engine = try TimerEngine()
let hint = Just("a hint after 150 ms")
    .delay(for: .milliseconds(150), scheduler: engine.ocombine)
    .receive(on: loop.ocombine)
    .sink { hint in print(hint) }

loop.run(for: 0.3)
#else
print("needs the trait OpenCombine: swift run --traits OpenCombine SearchField")
#endif
