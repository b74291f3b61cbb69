// SPDX-License-Identifier: Apache-2.0
import CTestSupport
import Foundation
import Testing

/// Wake latencies that were recorded on a Xeon of 2.5 GHz, a guest with two processors and Linux 6.18, replayed through the spin window.
/// `make replay` prints the same, and what becomes of it with other constants.
@Suite struct SpinReplayTests {
    enum Machine: String, CaseIterable { case recorded, halved, withIdleStates }

    private static let loads = ["idle", "busy", "changing"]
    private static let rates: [(String, Int64)] = [("1ms", 1_000_000), ("4.17ms", 4_166_667), ("16.67ms", 16_666_667)]

    private func latencies_ns(_ rate: String, _ load: String) throws -> [Int64] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../Replay/traces/xeon-\(rate)-\(load)"
        )
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { try #require(Int64($0)) }
    }

    /// The regrets for each load and rate, in hundredths.
    private func regrets(_ machine: Machine, within bound_ns: Int64) throws -> [[Int]] {
        try Self.loads.map { load in
            try Self.rates.map { rate, interval_ns in
                var latencies_ns = try latencies_ns(rate, load)
                let count = latencies_ns.count
                #expect(count >= 3600)
                switch machine {
                case .recorded: break
                case .halved: ctest_replay_halve(&latencies_ns, count)
                case .withIdleStates: ctest_replay_add_idle_states(&latencies_ns, count, interval_ns)
                }
                return Int((100 * ctest_replay_regret(latencies_ns, count, interval_ns, bound_ns)).rounded())
            }
        }
    }

    /// Idle, busy and changing; at 1 kHz, 240 and 60 Hz; within 5 µs, and within 1 µs.
    private static let expected: [Machine: ([[Int]], [[Int]])] = [
        .recorded: (
            [[85, 82, 104], [65, 93, 98], [58, 62, 84]],
            [[93, 94, 103], [77, 85, 91], [59, 63, 87]]
        ),
        .halved: (
            [[82, 108, 102], [44, 63, 69], [51, 75, 72]],
            [[81, 77, 114], [54, 79, 81], [60, 59, 79]]
        ),
        .withIdleStates: (
            [[75, 45, 44], [68, 48, 47], [71, 47, 46]],
            [[94, 47, 46], [90, 49, 48], [91, 48, 48]]
        ),
    ]

    @Test(
        "What the spin window loses on recorded latencies, over the loss of the best margin for them",
        arguments: Machine.allCases
    )
    func regrets(_ machine: Machine) throws {
        let (within5, within1) = try #require(Self.expected[machine])
        #expect(try regrets(machine, within: 5000) == within5)
        #expect(try regrets(machine, within: 1000) == within1)
    }
}
