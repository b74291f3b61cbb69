// SPDX-License-Identifier: Apache-2.0
import Seeded

/// The order in which the blocks of a run are measured.
///
/// Each round has every subject once, shuffled: if the machine warms up, throttles or gets a neighbour halfway through,
/// that affects all subjects alike. Each block also gets its own phase, because timers that always start at the same
/// distance from the scheduler's tick favour or penalize some subjects.
struct Schedule: Sendable, Equatable {
    struct Turn: Sendable, Equatable {
        let round: Int
        let subject: Int
        let phase_ns: Int64
    }

    let turns: [Turn]
    let rounds: Int

    init(subjects: Int, rounds: Int, interval_ns: Int64, seed: UInt64) {
        self.rounds = rounds
        var random = SeededRandom(seed: seed)
        turns = (0..<rounds).flatMap { round in
            (0..<subjects).shuffled(using: &random).map { subject in
                Turn(round: round, subject: subject, phase_ns: .random(in: 0..<interval_ns, using: &random))
            }
        }
    }
}
