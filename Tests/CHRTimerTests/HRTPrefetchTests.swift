import CHRTimer
import Testing

@Suite struct HRTPrefetchTests {
    @Test("Any address may be prefetched, also null", arguments: [0, 1, 4096, UInt.max, UInt.max - 4096])
    func anyAddress(address: UInt) {
        for bytes in [0, 1, 64, 320] {
            hrt_prefetch(UnsafeRawPointer(bitPattern: address), bytes)
            hrt_prefetch_read(UnsafeRawPointer(bitPattern: address), bytes)
        }
    }
}
