// SPDX-License-Identifier: Apache-2.0
/// A piece whose tempo changes abruptly, as when a musician turns the knob.
struct Tempo: Sendable {
    /// MIDI 1.0, System Real Time messages: 24 clocks per beat.
    static let clocksPerBeat = 24.0
    let beatsPerMinute: [Double] = [120, 174, 90]
    /// How long each tempo lasts.
    let seconds: Double

    func interval(_ part: Int) -> Duration { .seconds(60 / beatsPerMinute[part] / Self.clocksPerBeat) }
    func clocks(_ part: Int) -> Int { Int(seconds * beatsPerMinute[part] / 60 * Self.clocksPerBeat) }
    var total: Int { beatsPerMinute.indices.reduce(0) { $0 + clocks($1) } }
}

/// The MIDI bytes that a clock sends.
enum MIDI {
    static let clock: UInt8 = 0xF8, start: UInt8 = 0xFA, stop: UInt8 = 0xFC
}
