#if os(Linux)
import HRTimerCore
import Synchronization

/// What sources, triggers and observers have in common: a handler that is freed when they become invalid, and the one loop
/// they are in.
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

    var keepsLoopRunning: Bool { state.withLock { $0.keepsLoopRunning } }

    /// `apply` is called under the lock if it is in a loop.
    func setKeepsLoopRunning(_ keepsRunning: Bool, _ apply: (TimerLoop) -> Void) {
        withLoop { state, loop in
            state.keepsLoopRunning = keepsRunning
            if let loop { apply(loop) }
        }
    }

    /// False if it is invalid or in another loop. Otherwise `add` is called under the lock, with `keepsLoopRunning`, and says
    /// whether the loop took it: if not the loop has ended, and it becomes invalid.
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
        // Let go without the lock.
        withExtendedLifetime(refused) {}
        return isAdded
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
        var modes: ModeTable.SetID
    }

    private(set) var entries: [Entry] = []

    /// Adds it for a mode, and gives its set of modes before and after.
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

    /// Takes it out of a mode, and gives its set of modes before and after; nil if it is in none.
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

    /// The modes it was in.
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
