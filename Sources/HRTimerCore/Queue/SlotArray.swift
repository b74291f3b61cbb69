#if os(Linux)
import HRTimerLibc

/// The elements that belong to a queue's timers, indexed by slot. They never move: they lie in chunks that are mapped from
/// the system, so that growing copies nothing and an unused chunk can be returned at once.
///
/// Every slot has an element; a slot without a timer has a vacant one. Not thread-safe: its owner holds a lock. Usable from
/// inline code, so that other modules specialise it.
@usableFromInline package struct SlotArray<Element: ~Copyable>: ~Copyable {
    @inlinable static var chunkSize: Int { 1024 }

    /// Nil for a chunk that was returned to the system or is not mapped yet. A table of pointers rather than an array,
    /// because an array checks its bounds at each access.
    @usableFromInline var chunks: UnsafeMutablePointer<UnsafeMutablePointer<Element>?>
    @usableFromInline var chunkCount = 0
    private var capacity = 4
    private let vacant: @Sendable () -> Element
    /// The chunk at which the next `trim` continues.
    private var trimmed = 0

    package init(vacant: @escaping @Sendable () -> Element) {
        self.vacant = vacant
        chunks = .allocate(capacity: capacity)
    }

    deinit {
        for index in 0..<chunkCount { if let chunk = chunks[index] { Self.giveBack(chunk) } }
        chunks.deallocate()
    }

    private static var chunkBytes: Int { chunkSize * MemoryLayout<Element>.stride }

    private static func giveBack(_ chunk: UnsafeMutablePointer<Element>) {
        chunk.deinitialize(count: chunkSize)
        munmap(chunk, chunkBytes)
    }

    /// Makes sure that the slot has an element. Must be called before a slot is used for the first time, and again after `trim`.
    @inlinable @inline(__always)
    package mutating func makeRoom(for slot: UInt32) {
        let chunk = Int(slot) / Self.chunkSize
        if chunk >= chunkCount || chunks[chunk] == nil { makeChunk(chunk) }
    }

    @usableFromInline @inline(never)
    mutating func makeChunk(_ chunk: Int) {
        while chunk >= chunkCount { appendChunk() }
        // mmap(2) rather than malloc(3), which returns only the end of its heap to the system.
        let memory = mmap(nil, Self.chunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else {
            fatalError("no memory for \(Self.chunkSize) more timers")
        }
        let elements = memory.bindMemory(to: Element.self, capacity: Self.chunkSize)
        for place in 0..<Self.chunkSize { (elements + place).initialize(to: vacant()) }
        chunks[chunk] = elements
    }

    /// Appends the table's entry for a chunk that is not mapped yet.
    private mutating func appendChunk() {
        if chunkCount == capacity {
            let more = UnsafeMutablePointer<UnsafeMutablePointer<Element>?>.allocate(capacity: 2 * capacity)
            more.initialize(from: chunks, count: chunkCount)
            chunks.deallocate()
            (chunks, capacity) = (more, 2 * capacity)
        }
        (chunks + chunkCount).initialize(to: nil)
        chunkCount += 1
    }

    /// Returns to the system the memory of chunks in which every element is vacant. Each call does a bounded part of the
    /// work. Returns true if there is more to do.
    package mutating func trim(isVacant: (borrowing Element) -> Bool) -> Bool {
        let end = min(trimmed + 16, chunkCount)
        for index in trimmed..<end {
            guard let chunk = chunks[index] else { continue }
            if (0..<Self.chunkSize).allSatisfy({ isVacant(chunk[$0]) }) {
                Self.giveBack(chunk)
                chunks[index] = nil
            }
        }
        trimmed = end < chunkCount ? end : 0
        return trimmed != 0
    }

    /// Calls `body` with every element, including the vacant ones.
    package mutating func forEach(_ body: (inout Element) -> Void) {
        forEachSlot { _, element in body(&element) }
    }

    /// Calls `body` with every slot and its element, including the vacant ones.
    package mutating func forEachSlot(_ body: (UInt32, inout Element) -> Void) {
        for index in 0..<chunkCount {
            guard let chunk = chunks[index] else { continue }
            for place in 0..<Self.chunkSize { body(UInt32(index * Self.chunkSize + place), &chunk[place]) }
        }
    }

    /// The element of a slot for which `makeRoom(for:)` was called. It stays at its address as long as it is not vacant.
    @inlinable
    package subscript(slot: UInt32) -> Element {
        @inline(__always) unsafeAddress { UnsafePointer(place(slot)) }
        @inline(__always) unsafeMutableAddress { place(slot) }
    }

    @inlinable @inline(__always)
    func place(_ slot: UInt32) -> UnsafeMutablePointer<Element> {
        // `makeRoom(for:)` was called for every slot that is in use.
        assert(Int(slot) / Self.chunkSize < chunkCount)
        return chunks[Int(slot) / Self.chunkSize].unsafelyUnwrapped + Int(slot) % Self.chunkSize
    }
}

// Sendable: it is the only owner of its chunks and, being noncopyable, has one owner at a time.
extension SlotArray: @unchecked Sendable where Element: ~Copyable & Sendable {}
#endif
