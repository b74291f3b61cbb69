// SPDX-License-Identifier: Apache-2.0
import Glibc

/// An `async let` whose parent stays awake, and uses the memory of its child as soon as the child is done: see `hold.py`.
@main
struct Program {
    static func main() async {
        for round in 0..<20 {
            await parent(round)
            await useMemory(round)
        }
        print("20 rounds")
    }

    @inline(never)
    private static func parent(_ round: Int) async {
        async let value = child(round)
        // The child ends meanwhile, while nobody waits for it.
        spin()
        let same = await value
        precondition(same == round)
    }

    @inline(never)
    private static func child(_ round: Int) async -> Int { round }

    /// Puts a frame of ones where the child was.
    @inline(never)
    private static func useMemory(_ round: Int) async {
        let ones = (all(round), all(round), all(round), all(round))
        await spinTwice()
        if round < 0 { print(ones) }
        await spinTwice()
        if round < 0 { print(ones) }
    }

    @inline(never)
    private static func all(_ round: Int) -> SIMD64<Int64> { SIMD64(repeating: round < 0 ? 0 : -1) }

    @inline(never)
    private static func spinTwice() async {
        spin()
        await Task.yield()
        spin()
    }

    /// Spins for 30 ms.
    private static func spin() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let end_ns = time.tv_sec * 1_000_000_000 + time.tv_nsec + 30_000_000
        repeat { clock_gettime(CLOCK_MONOTONIC, &time) } while time.tv_sec * 1_000_000_000 + time.tv_nsec < end_ns
    }
}
