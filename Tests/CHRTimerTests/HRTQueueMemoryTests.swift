import CHRTimer
import CTestSupport
import Glibc
import Synchronization
import TestSupport
import TestTraits
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

    /// The first block has room for 65,535 timers, every other one for 65,536.
    @Test(
        "Blocks fill, empty and fill again, also when exactly full",
        arguments: [65_534, 65_535, 65_536, 131_070, 131_071, 131_072]
    )
    func blocks(count: Int) {
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
        "Trimming cuts the first block after its last timer, if that frees at least 64 KiB",
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

    @Test("The first block keeps timers that are added while it is being emptied", arguments: [false, true])
    func comesBack(stays: Bool) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = (0..<60_000).map { timers.schedule(at: second + Int64($0)) }
        for token in tokens { hrt_queue_remove(timers.queue, token) }
        for _ in 0..<10 { #expect(hrt_queue_trim(timers.queue)) }
        // The slots freed last are used first, and trimming has already been through those.
        let again = (0..<200).map { timers.schedule(at: 2 * second + Int64($0)) }
        #expect(again.contains { $0.slot > 55_000 })
        if !stays { for token in again { hrt_queue_remove(timers.queue, token) } }
        timers.trimWholly()
        ctest_queue_check(timers.queue)
        #expect(again.allSatisfy { hrt_queue_is_live(timers.queue, $0) == stays })
        #expect(timers.takeDue(at: 3 * second).map(\.token) == (stays ? again : []))
    }

    @Test("Slots of the lowest block are used first, so that high blocks become empty")
    func lowestFirst() {
        let timers = TimerQueue()
        let tokens = (0..<200_000).map { _ in timers.add() }
        for token in tokens[1000..<1200] { hrt_queue_remove(timers.queue, token) }
        for token in tokens[150_000..<150_200] { hrt_queue_remove(timers.queue, token) }
        // Only the 64 slots freed last, at most, were spare.
        let again = (0..<200).map { _ in timers.add() }
        #expect(again.count { $0.slot < 65_535 } >= 200 - 64)
    }

    /// Maps, writes, checks and unmaps 2 MiB in a loop, until told to stop. A class, so that a C thread can refer to it.
    private final class Neighbour: Sendable {
        let isOver = Atomic(false)
        let spoilt = Atomic(0)

        func run() {
            let bytes = 2 << 20
            while !isOver.load(ordering: .relaxed) {
                guard let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                    memory != MAP_FAILED
                else { continue }
                let words = memory.bindMemory(to: Int.self, capacity: bytes / 8)
                for index in stride(from: 0, to: bytes / 8, by: 512) { words[index] = index + 1 }
                for index in stride(from: 0, to: bytes / 8, by: 512) where words[index] != index + 1 {
                    spoilt.add(1, ordering: .relaxed)
                }
                munmap(memory, bytes)
            }
        }
    }

    @Test("A queue that moves to grow leaves alone what others map at its former addresses", .hangLimit)
    func growsBesideOthers() async {
        await #expect(processExitsWith: .success) {
            let neighbours = (0..<2).map { _ in Neighbour() }
            let threads = neighbours.map { neighbour in
                var thread = pthread_t()
                pthread_create(
                    &thread,
                    nil,
                    { context in
                        Unmanaged<Neighbour>.fromOpaque(context!).takeUnretainedValue().run()
                        return nil
                    },
                    Unmanaged.passUnretained(neighbour).toOpaque()
                )
                return thread
            }
            for _ in 0..<3 {
                // Two queues that grow alternately: neither finds the addresses after its memory free.
                let queues = [TimerQueue(), TimerQueue()]
                for _ in 0..<300_000 { for queue in queues { _ = queue.add() } }
            }
            for neighbour in neighbours { neighbour.isOver.store(true, ordering: .relaxed) }
            for thread in threads { pthread_join(thread, nil) }
            #expect(neighbours.allSatisfy { $0.spoilt.load(ordering: .relaxed) == 0 })
        }
    }
}
