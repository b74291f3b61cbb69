// SPDX-License-Identifier: Apache-2.0
// A MIDI clock whose tempo changes, with different ways to wait, measured at the receiver.
import CReceiver
import Glibc
import HRTimer
import Measured

let tempo = Tempo(seconds: number("seconds", 4))
let folder = option("output") ?? "."

struct Port: Sendable {
    let descriptor: Int32
    func send(_ byte: UInt8) {
        var byte = byte
        if Glibc.send(descriptor, &byte, 1, 0) != 1 { fatalError("send: \(String(cString: strerror(errno)))") }
    }
}

typealias Way = @Sendable (Port) async throws -> Void

/// Plays the piece in one of the ways, and measures it at the receiver.
func measure(_ name: String, isOurs: Bool, _ way: Way) async throws -> Figures.Row {
    let receiver = Receiver()
    let port = Port(descriptor: sender_open(receiver.port))
    receiver.begin()
    let before = Usage.now()
    port.send(MIDI.start)
    try await way(port)
    port.send(MIDI.stop)
    let used = Usage.now() - before
    let heard = tempo.jitter(of: receiver.end())
    close(port.descriptor)
    let facts = [
        "drift of the piece, µs": Double(heard.drift_ns) / 1000,
        "CPU a clock, µs": Double(used.cpu_ns) / 1000 / Double(tempo.total),
    ]
    return Figures.Row(name, isOurs: isOurs, samples_ns: heard.samples_ns, facts: facts)
}

/// One sequence of ticks, whose interval is set when the tempo changes: the remainder of the present interval scales. `.burst`
/// sends each clock, a late one too: receivers count them.
@Sendable func byTicks(_ clock: MonotonicClock, _ port: Port) async throws {
    let ticks = clock.ticks(every: tempo.interval(0), policy: .burst)
    var (part, count) = (0, 0)
    for await _ in ticks {
        port.send(MIDI.clock)
        count += 1
        guard count == tempo.clocks(part) else { continue }
        (part, count) = (part + 1, 0)
        if part == tempo.beatsPerMinute.count { return ticks.cancel() }
        ticks.interval = tempo.interval(part)
    }
}

var rows: [Figures.Row] = []
rows.append(
    try await measure("Task.sleep(for:)", isOurs: false) { port in
        for part in tempo.beatsPerMinute.indices {
            for _ in 0..<tempo.clocks(part) {
                try await Task.sleep(for: tempo.interval(part), tolerance: .zero)
                port.send(MIDI.clock)
            }
        }
    }
)
rows.append(
    try await measure("Task.sleep(until:)", isOurs: false) { port in
        var deadline = ContinuousClock.now
        for part in tempo.beatsPerMinute.indices {
            for _ in 0..<tempo.clocks(part) {
                deadline += tempo.interval(part)
                try await Task.sleep(until: deadline, tolerance: .zero, clock: .continuous)
                port.send(MIDI.clock)
            }
        }
    }
)
rows.append(try await measure("ticks", isOurs: true) { try await byTicks(MonotonicClock(), $0) })
rows.append(
    try await measure("ticks, precise, on a TimerExecutor", isOurs: true) { port in
        let engine = try TimerEngine(name: "midi", precision: .precise)
        let player = Task(executorPreference: TimerExecutor(engine: engine)) {
            try await byTicks(MonotonicClock(engine: engine), port)
        }
        try await player.value
    }
)
let measurement = Figures(
    "MIDIClock",
    quantity: "deviation of the interval between two clocks, at the receiver",
    rows: rows
)
try measurement.publish(to: folder)
