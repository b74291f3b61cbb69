// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport

@testable import HRTimer

/// Events in a row of steps, with one character per step: a letter is an element, `|` the end, `^` an error, `-` nothing, and
/// `[ab]` several events in one step, as in `abcd----e---f-g-|`.
struct Diagram: Sendable, Equatable {
    struct Event: Sendable, Equatable {
        var step: Int
        /// An element, or `|`, or `^`.
        var sign: Character
    }

    struct Failure: Error {}

    var events: [Event]

    init(_ events: [Event]) {
        self.events = events
    }

    init(_ picture: String) {
        var (events, step, isGrouped) = ([Event](), 0, false)
        for sign in picture {
            switch sign {
            case "[": isGrouped = true
            case "]": isGrouped = false
            case "-": break
            default: events.append(Event(step: step, sign: sign))
            }
            if !isGrouped { step += 1 }
        }
        self.events = events
    }

    /// Returns what a gate passes of the diagram. In one step, elements come before the end of a period.
    func through(_ rule: BurstGate<Character>.Rule, _ edges: BurstEdges, period: Int) -> Diagram {
        var gate = BurstGate<Character>(rule, edges, period_ns: Int64(period))
        var passed: [Event] = []
        func expire(before step: Int) {
            while gate.wake_ns < step {
                let wake = Int(gate.wake_ns)
                if let sign = gate.expire(at: gate.wake_ns) { passed.append(Event(step: wake, sign: sign)) }
            }
        }
        for event in events {
            expire(before: event.step)
            var (signs, dropped) = ([Character](), Character?.none)
            switch event.sign {
            case "^":
                _ = gate.reset()
                signs = ["^"]
            case "|":
                if gate.passesAtEnd, let last = gate.flush(at: Int64(event.step)) { signs = [last] }
                let end = gate.wake_ns == .max ? event.step : max(event.step, Int(gate.wake_ns))
                expire(before: end + 1)
                passed += signs.map { Event(step: event.step, sign: $0) } + [Event(step: end, sign: "|")]
                return Diagram(passed)
            default: gate.receive(event.sign, at: Int64(event.step), &signs, dropped: &dropped)
            }
            passed += signs.map { Event(step: event.step, sign: $0) }
            if event.sign == "^" { break }
        }
        expire(before: 1_000_000)
        return Diagram(passed)
    }

    /// Returns the diagram as a sequence on the clock of a virtual time, with one second per step, from now on.
    func sequence() -> AsyncThrowingStream<Character, any Error> {
        let start = MonotonicInstant.now
        return AsyncThrowingStream { continuation in
            let task = Task {
                for event in events {
                    try? await Task.sleep(until: start + .seconds(event.step), clock: .monotonic)
                    switch event.sign {
                    case "|": continuation.finish()
                    case "^": continuation.finish(throwing: Failure())
                    default: continuation.yield(event.sign)
                    }
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Returns what a sequence made of the diagram yields on that clock, and when.
    static func recorded<Paced: AsyncSequence<Character, any Error>>(
        _ make: (Diagram) -> Paced,
        of diagram: Diagram
    ) async -> Diagram {
        let start = MonotonicInstant.now
        func step() -> Int { Int(start.duration(to: .now) / .seconds(1)) }
        var events: [Event] = []
        do {
            for try await sign in make(diagram) { events.append(Event(step: step(), sign: sign)) }
            events.append(Event(step: step(), sign: "|"))
        } catch {
            events.append(Event(step: step(), sign: "^"))
        }
        return Diagram(events)
    }
}
