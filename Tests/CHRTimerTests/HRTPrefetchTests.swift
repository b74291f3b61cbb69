import CHRTimer
import Glibc
import Testing

@Suite struct HRTPrefetchTests {
    @Test("Any address may be prefetched, also null", arguments: [0, 1, 4096, UInt.max, UInt.max - 4096])
    func anyAddress(address: UInt) {
        for bytes in [0, 1, 64, 320] {
            hrt_prefetch(UnsafeRawPointer(bitPattern: address), bytes)
            hrt_prefetch_read(UnsafeRawPointer(bitPattern: address), bytes)
        }
    }

    @Test("A word that would lie on the page after its object's first one is not read")
    func pageEnd() throws {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let memory = mmap(nil, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        let pages = try #require(memory != MAP_FAILED ? memory : nil)
        defer { munmap(pages, 2 * page) }
        // Reading it would be a segmentation fault.
        try #require(mprotect(pages + page, page, PROT_NONE) == 0)
        let empty = pages + page - 16
        hrt_prefetch_pointee(empty, 16)
        hrt_prefetch_pointee(empty, 32)
        hrt_prefetch_pointee(pages + page - 24, 16)
    }

    @Test("Any word may be taken for an address, and no object has none")
    func anyWord() {
        for word in [0, 1, 4096, 0x7fff_ffff_f000, .max, .min, -1, Int(bitPattern: 0xdead_beef_dead_beef)] {
            let object: [Int] = [0, 0, word, 0, word]
            object.withUnsafeBytes { bytes in
                hrt_prefetch_pointee(bytes.baseAddress, 16)
                hrt_prefetch_pointee(bytes.baseAddress, 32)
            }
        }
        hrt_prefetch_pointee(nil, 16)
    }
}
