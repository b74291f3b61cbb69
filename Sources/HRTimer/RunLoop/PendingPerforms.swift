#if os(Linux)
/// Blocks that wait for the loop's next pass, in order of (order, arrival).
struct PendingPerforms: Sendable {
    typealias Block = @Sendable () -> Void

    private struct Entry: Sendable {
        let block: Block
        let modes: ModeTable.SetID
        let order: Int
        let request: Request?
    }

    /// The target and the key by which a block can be cancelled.
    struct Request: Sendable {
        let target: ObjectIdentifier
        let key: String
    }

    private var entries: [Entry] = []

    mutating func add(_ block: @escaping Block, modes: ModeTable.SetID, order: Int, request: Request? = nil) {
        let place = entries.lastIndex { $0.order <= order }.map { $0 + 1 } ?? 0
        entries.insert(Entry(block: block, modes: modes, order: order, request: request), at: place)
    }

    var isEmpty: Bool { entries.isEmpty }

    func contains(_ isServed: (ModeTable.SetID) -> Bool) -> Bool {
        entries.contains { isServed($0.modes) }
    }

    /// Removes and returns the blocks that the running mode serves. The caller calls and frees them without the lock.
    mutating func take(_ isServed: (ModeTable.SetID) -> Bool) -> [Block] {
        if entries.isEmpty { return [] }
        let taken = entries.filter { isServed($0.modes) }.map { $0.block }
        entries.removeAll { isServed($0.modes) }
        return taken
    }

    /// Removes and returns the blocks requested for the target and the key, or for any key if that is nil. The caller frees
    /// them without the lock.
    mutating func take(target: ObjectIdentifier, key: String?) -> [Block] {
        func isMeant(_ entry: Entry) -> Bool {
            guard let request = entry.request, request.target == target else { return false }
            return key == nil || request.key == key
        }
        let taken = entries.filter(isMeant).map { $0.block }
        entries.removeAll(where: isMeant)
        return taken
    }

    mutating func removeAll() -> [Block] {
        defer { entries = [] }
        return entries.map { $0.block }
    }
}
#endif
