// One write for many changes, and a progress value that is shown at most ten times a second.
import HRTimer

// With callbacks: send() may be called as often as you like.
let (saved, save) = AsyncStream.makeStream(of: String.self)
let writes = Debouncer<String>(for: .milliseconds(20)) { text in
    save.yield(text)
    save.finish()
}
for length in 1...5 { writes.send(String("hello".prefix(length))) }
for await text in saved { print("saved once: \(text)") }

// With sequences: the first element at once, then the latest element of each period, including the last one.
let (progress, advance) = AsyncStream.makeStream(of: Int.self)
for percent in 0...100 { advance.yield(percent) }
advance.finish()
for await percent in progress.throttle(for: .milliseconds(100), on: .monotonic) { print("\(percent) %") }
