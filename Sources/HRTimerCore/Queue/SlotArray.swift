public import CHRTimer
import Glibc

/// What belongs to the timers of a queue, by slot: elements that never move, in chunks straight from the system, so that
/// growing copies nothing and a chunk that is not needed any more is given back at once.
///
/// Every slot has an element; a vacant one where there is no timer. Not thread-safe: its owner has the lock. Usable from
/// inline code so that the other modules have it specialised.
@usableFromInline package struct SlotArray<Element>: ~Copyable {
    @inlinable static var chunkSize: Int { 1024 }

    /// Nil for a chunk that was given back, or is not there yet.
    @usableFromInline var chunks: [UnsafeMutablePointer<Element>?] = []
    private let vacant: @Sendable () -> Element
    /// Where the next `trim` goes on looking.
    private var trimmed = 0

    package init(vacant: @escaping @Sendable () -> Element) {
        self.vacant = vacant
    }

    deinit {
        for chunk in chunks { if let chunk { Self.giveBack(chunk) } }
    }

    private static var chunkBytes: Int { chunkSize * MemoryLayout<Element>.stride }

    private static func giveBack(_ chunk: UnsafeMutablePointer<Element>) {
        chunk.deinitialize(count: chunkSize)
        munmap(chunk, chunkBytes)
    }

    /// Must be called before a slot is used for the first time, and again after `trim`.
    @inlinable @inline(__always)
    package mutating func makeRoom(for slot: UInt32) {
        let chunk = Int(slot) / Self.chunkSize
        if chunk >= chunks.count || chunks[chunk] == nil { makeChunk(chunk) }
    }

    @usableFromInline @inline(never)
    mutating func makeChunk(_ chunk: Int) {
        while chunk >= chunks.count { chunks.append(nil) }
        // mmap(2) and not malloc(3), which gives the system back only what lies at the end of its heap.
        let memory = mmap(nil, Self.chunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else {
            fatalError("no memory for \(Self.chunkSize) more timers")
        }
        let elements = memory.bindMemory(to: Element.self, capacity: Self.chunkSize)
        for place in 0..<Self.chunkSize { (elements + place).initialize(to: vacant()) }
        chunks[chunk] = elements
    }

    /// Gives the memory of chunks back in which every element is vacant: a bounded piece of work a call. True if there is
    /// more to do.
    package mutating func trim(isVacant: (borrowing Element) -> Bool) -> Bool {
        let end = min(trimmed + 16, chunks.count)
        for index in trimmed..<end {
            guard let chunk = chunks[index] else { continue }
            if (0..<Self.chunkSize).allSatisfy({ isVacant(chunk[$0]) }) {
                Self.giveBack(chunk)
                chunks[index] = nil
            }
        }
        trimmed = end < chunks.count ? end : 0
        return trimmed != 0
    }

    /// Every element there is, vacant ones too.
    package mutating func forEach(_ body: (inout Element) -> Void) {
        forEachSlot { _, element in body(&element) }
    }

    /// The same with its slot.
    package mutating func forEachSlot(_ body: (UInt32, inout Element) -> Void) {
        for (index, chunk) in chunks.enumerated() {
            guard let chunk else { continue }
            for place in 0..<Self.chunkSize { body(UInt32(index * Self.chunkSize + place), &chunk[place]) }
        }
    }

    /// The element of a slot that there is room for. Stays where it is as long as it is not vacant.
    @inlinable
    package subscript(slot: UInt32) -> Element {
        @inline(__always) unsafeAddress { UnsafePointer(place(slot)) }
        @inline(__always) unsafeMutableAddress { place(slot) }
    }

    /// Has the processor fetch the element into its caches, to be read soon.
    @inlinable
    package func fetch(_ slot: UInt32) { hrt_prefetch(place(slot), MemoryLayout<Element>.stride) }

    @inlinable @inline(__always)
    func place(_ slot: UInt32) -> UnsafeMutablePointer<Element> {
        // There is room for every slot that was given out.
        chunks[Int(slot) / Self.chunkSize].unsafelyUnwrapped + Int(slot) % Self.chunkSize
    }
}

// Sendable: it alone owns its chunks, and being noncopyable is in one place at a time.
extension SlotArray: @unchecked Sendable where Element: Sendable {}
