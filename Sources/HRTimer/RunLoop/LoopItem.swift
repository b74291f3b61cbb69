#if os(Linux)
import HRTimerCore
import Synchronization

/// What sources, triggers and observers have in common: a handler, which is freed when they become invalid, and their one loop.
final class Attachment<Handler: Sendable>: Sendable {
    private struct State: Sendable {
        var handler: Handler?
        weak var loop: TimerLoop?
        var keepsLoopRunning = true
    }

    private let state: Locked<State>
    let id = LoopItemID.next()

    init(_ handler: Handler) {
        state = Locked(State(handler: handler))
    }

    /// The handler; nil once the item is invalid.
    var handler: Handler? { state.withLock { $0.handler } }

    /// Calls `body` with the lock held. Releases the loop only after unlocking: this may be the loop's last reference, and a
    /// loop that ends takes this lock.
    private func withLoop<Result>(_ body: (inout State, TimerLoop?) -> Result) -> Result {
        var loop: TimerLoop?
        defer { withExtendedLifetime(loop) {} }
        return state.withLock { state in
            loop = state.loop
            return body(&state, loop)
        }
    }

    var loop: TimerLoop? { withLoop { _, loop in loop } }

    var keepsLoopRunning: Bool { state.withLock { $0.keepsLoopRunning } }

    /// Sets whether the item keeps its loop running. Calls `apply` with the lock held if the item is in a loop.
    func setKeepsLoopRunning(_ keepsRunning: Bool, _ apply: (TimerLoop) -> Void) {
        withLoop { state, loop in
            state.keepsLoopRunning = keepsRunning
            if let loop { apply(loop) }
        }
    }

    /// Attaches the item to a loop. Returns false if the item is invalid or in another loop. Otherwise calls `add` with the
    /// lock held, passing `keepsLoopRunning`. If `add` returns false, the loop has ended, and the item becomes invalid.
    func attach(to loop: TimerLoop, _ add: (_ keepsRunning: Bool) -> Bool) -> Bool {
        var refused: Handler?
        let isAdded = withLoop { state, present in
            guard state.handler != nil, present == nil || present === loop else { return false }
            guard add(state.keepsLoopRunning) else {
                refused = state.handler.take()
                return false
            }
            state.loop = loop
            return true
        }
        // Released after unlocking.
        withExtendedLifetime(refused) {}
        return isAdded
    }

    /// Calls `remove` with the lock held if the item is in the loop; `remove` returns whether the item has left its last mode.
    func detach(from loop: TimerLoop, _ remove: () -> Bool) {
        withLoop { state, present in
            if present === loop, remove() { state.loop = nil }
        }
    }

    /// Makes the item invalid. Calls `forget` with the lock held if the item is in a loop. Idempotent.
    func end(_ forget: (TimerLoop) -> Void) {
        // Released after unlocking: freeing what a handler captured may call this object again.
        let handler = withLoop { state, loop -> Handler? in
            if let loop { forget(loop) }
            defer {
                state.handler = nil
                state.loop = nil
            }
            return state.handler
        }
        withExtendedLifetime(handler) {}
    }
}

enum LoopItemID {
    private static let last = Atomic<UInt64>(0)

    /// Returns a number that was never returned before. An address would not do, since it may be reused.
    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}

/// The triggers or observers of one loop, in order of (order, arrival), with the modes they are in.
struct OrderedItems<Item: Sendable>: Sendable {
    struct Entry: Sendable {
        let id: UInt64
        let item: Item
        let order: Int
        var modes: ModeTable.SetID
    }

    private(set) var entries: [Entry] = []

    /// Adds an item to a mode. Returns its set of modes before and after.
    mutating func add(
        _ item: Item,
        id: UInt64,
        order: Int,
        mode: Int,
        _ modes: inout ModeTable
    ) -> (from: ModeTable.SetID, to: ModeTable.SetID) {
        if let place = entries.firstIndex(where: { $0.id == id }) {
            let former = entries[place].modes
            entries[place].modes = modes.adding(mode, to: former)
            return (former, entries[place].modes)
        }
        let modes = modes.adding(mode, to: ModeTable.nowhere)
        let place = entries.lastIndex { $0.order <= order }.map { $0 + 1 } ?? 0
        entries.insert(Entry(id: id, item: item, order: order, modes: modes), at: place)
        return (ModeTable.nowhere, modes)
    }

    /// Removes an item from a mode. Returns its set of modes before and after; nil if the item is in no mode.
    mutating func remove(
        id: UInt64,
        mode: Int,
        _ modes: inout ModeTable
    ) -> (from: ModeTable.SetID, to: ModeTable.SetID)? {
        guard let place = entries.firstIndex(where: { $0.id == id }) else { return nil }
        let former = entries[place].modes
        let rest = modes.removing(mode, from: former)
        entries[place].modes = rest
        if modes.isEmpty(rest) { entries.remove(at: place) }
        return (former, rest)
    }

    /// Removes an item from all modes. Returns the set of modes that it was in.
    mutating func remove(id: UInt64) -> ModeTable.SetID {
        guard let place = entries.firstIndex(where: { $0.id == id }) else { return ModeTable.nowhere }
        return entries.remove(at: place).modes
    }

    mutating func removeAll() -> [Item] {
        defer { entries = [] }
        return entries.map { $0.item }
    }

    func items(_ isServed: (ModeTable.SetID) -> Bool) -> [Item] {
        entries.filter { isServed($0.modes) }.map { $0.item }
    }

    func contains(id: UInt64, _ isServed: (ModeTable.SetID) -> Bool) -> Bool {
        entries.contains { $0.id == id && isServed($0.modes) }
    }
}
#endif
