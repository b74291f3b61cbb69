// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import TestSupport
import Testing

@Suite("Memory of a timer queue", .serialized)
struct HRTQueueMemoryTests {
    private let second: Int64 = 1_000_000_000

    enum Kind: CaseIterable { case ordinary, tolerant, precise, overdue }

    private func arm(_ timers: TimerQueue, _ kind: Kind, _ number: Int) -> hrt_token {
        let deadline = Int64(number * 7919 % 60_000) * 1_000_000 + 1_000_000
        switch kind {
        case .ordinary: return timers.schedule(at: deadline)
        case .tolerant: return timers.schedule(at: deadline, tolerance: deadline / 10)
        case .precise: return timers.addPrecise(at: deadline)
        case .overdue: return timers.schedule(at: -deadline, tolerance: 1)
        }
    }

    @Test("300,000 timers that were armed and removed leave almost no memory behind", arguments: Kind.allCases)
    func givesAllBack(kind: Kind) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        _ = timers.schedule(at: 3600 * second)
        var tokens = (0..<300_000).map { _ in hrt_token() }
        // First touches what a queue keeps for good: some tens of pages for each per-class wheel.
        for number in 0..<1000 { hrt_queue_remove(timers.queue, arm(timers, kind, number)) }
        timers.normalize()
        let before = hrt_queue_memory_bytes(timers.queue)
        for number in tokens.indices { tokens[number] = arm(timers, kind, number) }
        timers.normalize()
        #expect(!hrt_queue_wants_trim(timers.queue))
        let peak = hrt_queue_memory_bytes(timers.queue)
        #expect(peak > 9_000_000)
        for token in tokens { hrt_queue_remove(timers.queue, token) }
        #expect(hrt_queue_wants_trim(timers.queue))
        #expect(timers.trimWholly() < 360)
        #expect(!hrt_queue_wants_trim(timers.queue))
        #expect(hrt_queue_memory_bytes(timers.queue) < before + 100_000)
        ctest_queue_check(timers.queue)  // reads every page of the wheel, which makes it resident
        #expect(tokens.allSatisfy { !hrt_queue_is_live(timers.queue, $0) })
        // The slots are used again, and no old token is valid for them.
        for number in 0..<tokens.count / 10 {
            let token = arm(timers, kind, number)
            #expect(hrt_queue_is_live(timers.queue, token))
        }
        #expect(tokens.allSatisfy { !hrt_queue_is_live(timers.queue, $0) })
        #expect(timers.takeDue(at: 61 * second).count == tokens.count / 10)
        #expect(timers.takeDue(at: 3600 * second).count == 1)
    }

    @Test("Trimming is wanted once three quarters of at least 4,096 timers are removed", arguments: [4095, 4096, 4097])
    func wants(count: Int) {
        let timers = TimerQueue()
        let tokens = (0..<count).map { timers.schedule(at: Int64($0)) }
        let kept = count / 4
        for token in tokens.dropFirst(kept + 1) { hrt_queue_remove(timers.queue, token) }
        #expect(!hrt_queue_wants_trim(timers.queue))
        hrt_queue_remove(timers.queue, tokens[kept])
        #expect(hrt_queue_wants_trim(timers.queue) == (count >= 4096))
        timers.trimWholly()
        #expect(!hrt_queue_wants_trim(timers.queue))
    }

    /// The first chunk has room for 2,047 timers, every other one for 2,048.
    @Test(
        "Chunks fill, empty and fill again, also when exactly full",
        arguments: [2046, 2047, 2048, 4094, 4095, 4096, 131_071, 131_072]
    )
    func chunks(count: Int) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        for _ in 0..<2 {
            let tokens = (0..<count).map { timers.schedule(at: Int64($0)) }
            var isGiven = [Bool](repeating: false, count: count)
            for token in tokens { isGiven[Int(token.slot)] = true }
            #expect(!isGiven.contains(false))
            for token in tokens { hrt_queue_remove(timers.queue, token) }
            timers.trimWholly()
            ctest_queue_check(timers.queue)
            #expect(hrt_queue_memory_bytes(timers.queue) < 800_000)
            #expect(tokens.allSatisfy { !hrt_queue_is_live(timers.queue, $0) })
        }
    }

    @Test(
        "Trimming keeps the timers that are left, wherever their slots are",
        arguments: [10, 2046, 2047, 2048, 2049, 60_000]
    )
    func cut(kept: Int) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = (0..<5000).map { timers.schedule(at: second + Int64($0), tolerance: Int64($0 % 2)) }
        let survivors = tokens.prefix(kept)
        for token in tokens.dropFirst(kept) { hrt_queue_remove(timers.queue, token) }
        timers.trimWholly()
        ctest_queue_check(timers.queue)
        let again = (kept..<max(kept, 7000)).map { timers.schedule(at: second + Int64($0)) }
        ctest_queue_check(timers.queue)
        #expect(tokens.dropFirst(kept).allSatisfy { !hrt_queue_is_live(timers.queue, $0) })
        #expect(timers.takeDue(at: 2 * second).map(\.token) == survivors + again)
    }

    @Test("Queues that are destroyed leave no memory mapped")
    func destroyed() async {
        await #expect(processExitsWith: .success) {
            func makeAndDestroy() {
                let timers = TimerQueue()
                for deadline: Int64 in 0..<5000 { _ = timers.schedule(at: deadline) }
            }
            for _ in 0..<20 { makeAndDestroy() }
            let before = Kernel.mappedBytes
            for _ in 0..<1000 { makeAndDestroy() }
            #expect(Kernel.mappedBytes < before + 1_000_000)
        }
    }

    @Test("A few timers that are left keep only the memory round their own slots")
    func keepsLittle() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = (0..<300_000).map { timers.schedule(at: 60 * second + Int64($0)) }
        let peak = hrt_queue_memory_bytes(timers.queue)
        let kept = [5, 100_000, 299_999].map { tokens[$0] }
        for (number, token) in tokens.enumerated() where ![5, 100_000, 299_999].contains(number) {
            hrt_queue_remove(timers.queue, token)
        }
        timers.trimWholly()
        #expect(hrt_queue_memory_bytes(timers.queue) < peak / 10)
        ctest_queue_check(timers.queue)
        #expect(timers.takeDue(at: 61 * second).map(\.token) == kept)
    }

    @Test("The next deadline stays exact when the earliest timer of its bucket was in memory that is given back")
    func earliestIsGone() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = (0..<10_000).map { _ in timers.add() }
        let begin: Int64 = 5 << 36  // of a bucket of 69 s
        for number in 0..<10 { timers.arm(tokens[number], at: begin + second + Int64(number)) }
        timers.arm(tokens[9999], at: begin + 5)
        for token in tokens.dropFirst(10) { hrt_queue_remove(timers.queue, token) }
        timers.trimWholly()
        timers.normalize()
        #expect(timers.next == begin + second)
        #expect(timers.takeDue(at: begin + 2 * second).map(\.token) == Array(tokens.prefix(10)))
    }

    @Test("Timers may be added and removed between the calls that trim")
    func betweenPieces() {
        var random = SeededRandom(seed: 31)
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        var live: [(deadline: Int64, token: hrt_token)] = []
        var removed: [hrt_token] = []
        func schedule(_ count: Int) {
            for _ in 0..<count {
                let deadline = second + Int64.random(in: 0..<60 * second, using: &random)
                let tolerance = Bool.random(using: &random) ? deadline / 10 : 0
                live.append((deadline, timers.schedule(at: deadline, tolerance: tolerance)))
            }
        }
        for _ in 0..<6 {
            schedule(100_000)
            for index in live.indices.reversed() where index % 1000 != 7 {
                removed.append(live[index].token)
                hrt_queue_remove(timers.queue, live[index].token)
                live.remove(at: index)
            }
            var pieces = 0
            while hrt_queue_trim(timers.queue) {
                pieces += 1
                guard pieces % 16 == 0 else { continue }
                schedule(100)
                for _ in 0..<90 {
                    let timer = live.remove(at: live.count - 1 - Int.random(in: 0..<100 - 90, using: &random))
                    removed.append(timer.token)
                    hrt_queue_remove(timers.queue, timer.token)
                }
                if pieces % 8 == 0 { timers.normalize() }
            }
            ctest_queue_check(timers.queue)
            let stale = removed.count { hrt_queue_is_live(timers.queue, $0) }
            #expect(stale == 0)
        }
        #expect(timers.takeDue(at: 62 * second).map(\.deadline_ns) == live.map(\.deadline).sorted())
    }

    @Test("A chunk that gets timers while memory is given back keeps them", arguments: [false, true])
    func comesBack(stays: Bool) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = (0..<60_000).map { timers.schedule(at: second + Int64($0)) }
        for token in tokens { hrt_queue_remove(timers.queue, token) }
        for _ in 0..<10 { #expect(hrt_queue_trim(timers.queue)) }
        // Those beyond the first chunk come into chunks that trimming is still to look at.
        let again = (0..<6000).map { timers.schedule(at: 2 * second + Int64($0)) }
        if !stays { for token in again { hrt_queue_remove(timers.queue, token) } }
        timers.trimWholly()
        ctest_queue_check(timers.queue)
        #expect(again.allSatisfy { hrt_queue_is_live(timers.queue, $0) == stays })
        #expect(timers.takeDue(at: 3 * second).map(\.token) == (stays ? again : []))
    }

    @Test("A record stays where it is and as it is while its timer exists, whatever becomes of the others")
    func records() {
        var random = SeededRandom(seed: 7)
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        var live: [hrt_token] = []
        var addresses: [UInt32: UnsafeMutablePointer<Int64>] = [:]
        func number(_ token: hrt_token) -> Int64 { Int64(token.slot) << 32 | Int64(token.generation) }
        for _ in 0..<5 {
            for index in 0..<10_000 {
                let token = index % 2 == 0 ? timers.add() : timers.schedule(at: second, tolerance: Int64(index % 3))
                live.append(token)
                addresses[token.slot] = timers.record(token)
                timers.record(token).pointee = number(token)
            }
            live.shuffle(using: &random)
            for token in live.dropFirst(500) { hrt_queue_remove(timers.queue, token) }
            live.removeSubrange(500...)
            timers.trimWholly()
            #expect(
                live.allSatisfy { timers.record($0) == addresses[$0.slot] && timers.record($0).pointee == number($0) }
            )
            #expect(timers.slots == live.map(\.slot).sorted())
        }
    }

    @Test("Slots of the lowest chunk are used first, so that high chunks become empty")
    func lowestFirst() {
        let timers = TimerQueue()
        let tokens = (0..<200_000).map { _ in timers.add() }
        for token in tokens[1000..<1200] { hrt_queue_remove(timers.queue, token) }
        for token in tokens[150_000..<150_200] { hrt_queue_remove(timers.queue, token) }
        let again = (0..<200).map { _ in timers.add() }
        // The slot freed last is used before all others.
        #expect(again.count { $0.slot < 2047 } >= 199)
    }
}
