import Testing

@testable import bench

@Suite("The first screen")
struct DigestTests {
    private func lines(width: Int?) throws -> [String] {
        try Digest(Sample.file(), interval_ns: 1_000_000).lines(width: width) { $0 }
    }

    @Test("is ten lines at most, of what can run")
    func isShort() throws {
        let lines = try lines(width: 120)
        #expect(lines.count <= 10)
        #expect(lines.contains { $0.contains("Foundation") })
        #expect(!lines.contains { $0.contains("libevent") })
    }

    @Test("ends with what is most exact and what is cheapest of all that Swift calls, the kernel's own calls left out")
    func advises() throws {
        let advice = try #require(lines(width: nil).last)
        #expect(advice.hasPrefix("from Swift, most exact: hrtimer.source.dispatch-queue.precise (TimerSource), "))
        #expect(advice.contains("cheapest: "))
        #expect(!advice.contains("kernel."))
    }

    @Test("fits the terminal", arguments: [40, 60, 80, 200])
    func fits(_ width: Int) throws {
        #expect(try lines(width: width).allSatisfy { $0.count <= width })
    }
}
