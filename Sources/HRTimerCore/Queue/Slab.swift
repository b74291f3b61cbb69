/// An array whose elements never move and whose places can be empty: what belongs to the timer in a queue's slot.
///
/// Chunks of 256, so that growing copies nothing. Not thread-safe: its owner has the lock. Usable from inline code so that
/// the other modules have it specialised.
@usableFromInline package struct Slab<Element>: ~Copyable {
    @inlinable static var chunkSize: Int { 256 }
    @usableFromInline var chunks: [UnsafeMutablePointer<Element?>] = []

    package init() {}

    deinit {
        for chunk in chunks {
            chunk.deinitialize(count: Self.chunkSize)
            chunk.deallocate()
        }
    }

    @inlinable
    package mutating func insert(_ element: consuming Element, at slot: UInt32) {
        let (chunk, _) = Int(slot).quotientAndRemainder(dividingBy: Self.chunkSize)
        while chunk >= chunks.count {
            let fresh = UnsafeMutablePointer<Element?>.allocate(capacity: Self.chunkSize)
            fresh.initialize(repeating: nil, count: Self.chunkSize)
            chunks.append(fresh)
        }
        place(slot).pointee = element
    }

    @inlinable @inline(__always)
    package func isInUse(_ slot: UInt32) -> Bool {
        Int(slot) / Self.chunkSize < chunks.count && place(slot).pointee != nil
    }

    @inlinable
    package mutating func remove(at slot: UInt32) -> Element? {
        place(slot).pointee.take()
    }

    package mutating func removeAll() -> [Element] {
        chunks.flatMap { chunk in
            (0..<Self.chunkSize).compactMap { chunk[$0].take() }
        }
    }

    @inlinable
    package func forEach(_ body: (Element) -> Void) {
        for chunk in chunks {
            for place in 0..<Self.chunkSize {
                if let element = chunk[place] { body(element) }
            }
        }
    }

    /// The element in a slot that is in use. Stays valid until the slot is emptied.
    package subscript(slot: UInt32) -> Element {
        @inlinable @inline(__always) unsafeAddress { UnsafePointer(present(slot)) }
        @inlinable @inline(__always) unsafeMutableAddress { present(slot) }
    }

    @inlinable @inline(__always)
    func place(_ slot: UInt32) -> UnsafeMutablePointer<Element?> {
        chunks[Int(slot) / Self.chunkSize] + Int(slot) % Self.chunkSize
    }

    /// The payload of an optional lies at its start, and a slot in use is never nil.
    @inlinable @inline(__always)
    func present(_ slot: UInt32) -> UnsafeMutablePointer<Element> {
        let place = place(slot)
        assert(place.pointee != nil, "slot \(slot) is empty")
        return UnsafeMutableRawPointer(place).assumingMemoryBound(to: Element.self)
    }
}

// Sendable: it alone owns its chunks, and being noncopyable is in one place at a time.
extension Slab: @unchecked Sendable where Element: Sendable {}
