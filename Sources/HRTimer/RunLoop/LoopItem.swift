import HRTimerCore
import Synchronization

/// What sources, triggers and observers have in common: a handler that is freed when they become invalid, and the one loop
/// they are in.
final class Attachment<Handler: Sendable>: Sendable {
    private struct State: Sendable {
        var handler: Handler?
        weak var loop: TimerLoop?
    }

    private let state: Locked<State>
    let id = LoopItemID.next()

    init(_ handler: Handler) {
        state = Locked(State(handler: handler))
    }

    /// Nil once invalid.
    var handler: Handler? { state.withLock { $0.handler } }

    /// Calls `body` under the lock. The loop is let go after it: this may be its last reference, and a loop that ends takes
    /// this lock.
    private func withLoop<Result>(_ body: (inout State, TimerLoop?) -> Result) -> Result {
        var loop: TimerLoop?
        defer { withExtendedLifetime(loop) {} }
        return state.withLock { state in
            loop = state.loop
            return body(&state, loop)
        }
    }

    var loop: TimerLoop? { withLoop { _, loop in loop } }

    /// False if it is invalid or in another loop. Otherwise `add` is called under the lock, and says whether the loop took it.
    func attach(to loop: TimerLoop, _ add: () -> Bool) -> Bool {
        withLoop { state, present in
            guard state.handler != nil, present == nil || present === loop, add() else { return false }
            state.loop = loop
            return true
        }
    }

    /// `remove` says whether that was the last mode.
    func detach(from loop: TimerLoop, _ remove: () -> Bool) {
        withLoop { state, present in
            if present === loop, remove() { state.loop = nil }
        }
    }

    /// Makes it invalid; `forget` is called under the lock if it is in a loop. Idempotent.
    func end(_ forget: (TimerLoop) -> Void) {
        // Let go without the lock: freeing what a handler captured may come back here.
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

    /// A number never given before: an address may come again.
    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}

/// Triggers or observers of one loop, in order of (order, arrival), with the modes they are in.
struct OrderedItems<Item: Sendable>: Sendable {
    struct Entry: Sendable {
        let id: UInt64
        let item: Item
        let order: Int
        var modes: ModeSet
    }

    private(set) var entries: [Entry] = []

    /// True if it was not in that mode before.
    mutating func add(_ item: Item, id: UInt64, order: Int, mode: Int) -> Bool {
        if let place = entries.firstIndex(where: { $0.id == id }) {
            defer { entries[place].modes.insert(mode) }
            return !entries[place].modes.contains(mode)
        }
        var modes = ModeSet()
        modes.insert(mode)
        let place = entries.lastIndex { $0.order <= order }.map { $0 + 1 } ?? 0
        entries.insert(Entry(id: id, item: item, order: order, modes: modes), at: place)
        return true
    }

    /// Whether it was in that mode, and whether it is in none any more.
    mutating func remove(id: UInt64, mode: Int) -> (wasIn: Bool, isOut: Bool) {
        guard let place = entries.firstIndex(where: { $0.id == id }), entries[place].modes.contains(mode) else {
            return (false, false)
        }
        entries[place].modes.remove(mode)
        let isOut = entries[place].modes.isEmpty
        if isOut { entries.remove(at: place) }
        return (true, isOut)
    }

    /// The modes it was in.
    mutating func remove(id: UInt64) -> ModeSet {
        guard let place = entries.firstIndex(where: { $0.id == id }) else { return ModeSet() }
        return entries.remove(at: place).modes
    }

    mutating func removeAll() -> [Item] {
        defer { entries = [] }
        return entries.map(\.item)
    }

    func items(servedBy served: ModeSet) -> [Item] {
        entries.filter { $0.modes.intersects(served) }.map(\.item)
    }

    func contains(id: UInt64, servedBy served: ModeSet) -> Bool {
        entries.contains { $0.id == id && $0.modes.intersects(served) }
    }
}
