// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// What a debounce and a throttle let pass: the pictures of `BurstEdges`, and cases that other libraries publish.
@Suite struct BurstGateTests {
    private func gate(
        _ rule: BurstGate<Character>.Rule,
        _ edges: BurstEdges,
        _ period: Int,
        _ picture: String,
        _ wanted: String
    ) {
        #expect(Diagram(picture).through(rule, edges, period: period) == Diagram(wanted))
    }

    @Test("A debounce and a throttle pass what the pictures of their edges show")
    func pictures() {
        gate(.debounce, .leading, 3, "abcd----e---|", "a-------e---|")
        gate(.debounce, .trailing, 3, "abcd----e---|", "------d----e|")
        gate(.debounce, .both, 3, "abcd----e---|", "a-----d-e---|")
        gate(.throttle, .leading, 3, "abcd----e---|", "a--d----e---|")
        gate(.throttle, .trailing, 3, "abcd----e---|", "---c--d--e--|")
        gate(.throttle, .both, 3, "abcd----e---|", "a--d----e---|")
    }

    // The cases of TestDebounce in swift-async-algorithms, in code of our own. The period is three steps.

    @Test(
        "A debounce on the monotonic clock yields the published cases of swift-async-algorithms",
        arguments: [
            ("abcd----e---f-g----|", "------d----e-----g-|"),
            ("abcd----e---f-g-|", "------d----e----[g|]"),
            ("a|", "-[a|]"),
            ("a^", "-^"),
            ("----|", "----|"),
        ]
    )
    func publishedDebounce(_ picture: String, _ wanted: String) async throws {
        gate(.debounce, .trailing, 3, picture, wanted)
        try await withManualTime { time in
            let seen = await Diagram.recorded(
                { $0.sequence().debounce(for: .seconds(3), on: .monotonic) },
                of: Diagram(picture)
            )
            #expect(seen == Diagram(wanted))
            try time.checkNothingIsPending()
        }
    }

    // The cases of TestThrottle that keep the latest element. Up to the last element they show our leading edge: an element that
    // comes at the very end of a period begins the next one.

    @Test(
        "A throttle on the monotonic clock yields the published cases of swift-async-algorithms",
        arguments: [
            (0, "abcdefghijk|", "abcdefghijk|"),
            (1, "abcdefghijk|", "abcdefghijk|"),
            (2, "abcdefghijk|", "a-c-e-g-i-k|"),
            (2, "abcdef^hijk|", "a-c-e-^"),
            (1, "-a-b-c-d-e-f-g-h-i-j-k-|", "-a-b-c-d-e-f-g-h-i-j-k-|"),
            (2, "-a-b-c-d-e-f-g-h-i-j-k-|", "-a-b-c-d-e-f-g-h-i-j-k-|"),
            (2, "--a--b--c--d--e--f--g|", "--a--b--c--d--e--f--g|"),
            (3, "-a-b-c-d-e-f-g-h-i-j-k-|", "-a---c---e---g---i---k-|"),
        ]
    )
    func publishedThrottle(_ period: Int, _ picture: String, _ wanted: String) async throws {
        gate(.throttle, .leading, period, picture, wanted)
        try await withManualTime { time in
            let seen = await Diagram.recorded(
                { $0.sequence().throttle(for: .seconds(period), edges: .leading, on: .monotonic) },
                of: Diagram(picture)
            )
            #expect(seen == Diagram(wanted))
            try time.checkNothingIsPending()
        }
    }

    @Test(
        "A throttle passes the last element at the end of its period, as swift-async-algorithms publishes it",
        arguments: [
            ("abcdefghijk|", "a--d--g--j--[k|]"),
            ("abcdefghijkl|", "a--d--g--j--[l|]"),
        ]
    )
    func publishedLast(_ picture: String, _ wanted: String) {
        gate(.throttle, .both, 3, picture, wanted)
    }

    /// Returns a diagram from rxmarbles.com: the instant and the sign of each element.
    private func marbles(_ marbles: (Int, Character)...) -> Diagram {
        Diagram(marbles.map { Diagram.Event(step: $0.0, sign: $0.1) })
    }

    @Test("debounceTime(10) and throttleTime(25) pass what RxMarbles draws")
    func rxMarbles() async throws {
        let numbers = marbles((0, "1"), (26, "2"), (34, "3"), (40, "4"), (45, "5"), (79, "6"), (100, "|"))
        let letters = marbles(
            (0, "A"),
            (8, "B"),
            (16, "C"),
            (40, "D"),
            (55, "E"),
            (60, "F"),
            (70, "G"),
            (100, "|")
        )
        try await withManualTime { _ in
            let debounced = await Diagram.recorded(
                { $0.sequence().debounce(for: .seconds(10), on: .monotonic) },
                of: numbers
            )
            #expect(debounced == marbles((10, "1"), (55, "5"), (89, "6"), (100, "|")))
            let throttled = await Diagram.recorded(
                { $0.sequence().throttle(for: .seconds(25), edges: .leading, on: .monotonic) },
                of: letters
            )
            #expect(throttled == marbles((0, "A"), (40, "D"), (70, "G"), (100, "|")))
        }
    }
}
