// One write for many changes, and a progress bar that is drawn ten times a second at most.
import HRTimer

// Callbacks: send() as often as one likes.
let (saved, save) = AsyncStream.makeStream(of: String.self)
let writes = Debouncer<String>(for: .milliseconds(20)) { text in
    save.yield(text)
    save.finish()
}
for length in 1...5 { writes.send(String("hello".prefix(length))) }
for await text in saved { print("saved once: \(text)") }

// The same for sequences: the first element at once, and then the latest one of each period, the last one too.
let (progress, advance) = AsyncStream.makeStream(of: Int.self)
for percent in 0...100 { advance.yield(percent) }
advance.finish()
for await percent in progress.throttle(for: .milliseconds(100), on: .monotonic) { print("\(percent) %") }
