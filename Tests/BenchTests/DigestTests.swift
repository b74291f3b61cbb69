// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import bench

@Suite("The first screen")
struct DigestTests {
    private func lines(width: Int?) throws -> [String] {
        try Digest(Sample.file(), interval_ns: 1_000_000).lines(width: width) { $0 }
    }

    @Test("has ten lines at most, and only subjects that can run")
    func isShort() throws {
        let lines = try lines(width: 120)
        #expect(lines.count <= 10)
        #expect(lines.contains { $0.contains("Foundation") })
        #expect(!lines.contains { $0.contains("libevent") })
    }

    @Test("ends with the most exact and the cheapest subject from Swift, without the kernel's own calls")
    func advises() throws {
        let advice = try #require(lines(width: nil).last)
        #expect(advice.hasPrefix("from Swift, most exact: hrtimer.loop-timer.normal (LoopTimer)"))
        #expect(advice.contains("cheapest: "))
        #expect(!advice.contains("kernel."))
    }

    @Test("does not call a timer exact that was early")
    func early() throws {
        let id = "hrtimer.source.dispatch-queue.precise"
        let row = try #require(Sample.file().rows.first { $0.id == id })
        let exact = try #require(Sample.file().rows.first { $0.id == "hrtimer.loop-timer.normal" })
        #expect(row.early > 0 && exact.early == 0)
        #expect(try #require(row.lateness.p50) < #require(exact.lateness.p50))
        #expect(try lines(width: nil).last?.contains(id) == false)
    }

    @Test("fits the terminal", arguments: [40, 60, 80, 200])
    func fits(_ width: Int) throws {
        #expect(try lines(width: width).allSatisfy { $0.count <= width })
    }
}
