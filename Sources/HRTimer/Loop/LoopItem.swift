// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// Where an item stands in its loop: by its order, and then by its arrival. No two items of one kind have the same place, and
/// none has that of an item that is gone.
struct ItemPlace: Comparable, Sendable {
    let order: Int
    let arrival: UInt64

    static func < (left: ItemPlace, right: ItemPlace) -> Bool {
        (left.order, left.arrival) < (right.order, right.arrival)
    }
}

/// What is in one loop, of one kind, with the modes it is in: triggers, sources, observers, and blocks to perform. In the order
/// of their places; an item is found by its place in O(log n).
struct OrderedItems<Item: Sendable>: Sendable {
    struct Entry: Sendable {
        let place: ItemPlace
        var item: Item
        var modes = ModeTable.nowhere
        /// Whether the item is a member of its modes, and so keeps runs going.
        var keepsRunning: Bool
    }

    private(set) var entries: [Entry] = []
    private var arrivals: UInt64 = 0

    subscript(place: ItemPlace) -> Entry? { find(place).map { entries[$0] } }

    /// Returns the modes of an item; `nowhere` if it is not here.
    func modes(of place: ItemPlace) -> ModeTable.SetID { find(place).map { entries[$0].modes } ?? ModeTable.nowhere }

    /// Adds an item, which is in no mode at first.
    mutating func add(_ item: Item, order: Int, keepsRunning: Bool) -> ItemPlace {
        arrivals += 1
        let place = ItemPlace(order: order, arrival: arrivals)
        entries.insert(Entry(place: place, item: item, keepsRunning: keepsRunning), at: index(of: place))
        return place
    }

    mutating func setModes(_ modes: ModeTable.SetID, of place: ItemPlace, in table: inout ModeTable) {
        guard let index = find(place) else { return }
        if entries[index].keepsRunning { table.moveMember(from: entries[index].modes, to: modes) }
        entries[index].modes = modes
    }

    mutating func setKeepsRunning(_ keepsRunning: Bool, _ place: ItemPlace, in table: inout ModeTable) {
        guard let index = find(place), entries[index].keepsRunning != keepsRunning else { return }
        let modes = entries[index].modes
        if keepsRunning { table.addMember(modes) } else { table.removeMember(modes) }
        entries[index].keepsRunning = keepsRunning
    }

    mutating func update(_ place: ItemPlace, _ body: (inout Item) -> Void) {
        if let index = find(place) { body(&entries[index].item) }
    }

    /// Removes an item and returns it; nil if it is not here.
    mutating func remove(_ place: ItemPlace, from table: inout ModeTable) -> Item? {
        guard let index = find(place) else { return nil }
        setModes(ModeTable.nowhere, of: place, in: &table)
        return entries.remove(at: index).item
    }

    /// Removes and returns all items that are meant. The caller calls and frees them without the lock.
    mutating func take(from table: inout ModeTable, where isMeant: (Entry, ModeTable) -> Bool) -> [Item] {
        let taken = entries.filter { isMeant($0, table) }
        if taken.isEmpty { return [] }
        entries.removeAll { isMeant($0, table) }
        for entry in taken where entry.keepsRunning { table.removeMember(entry.modes) }
        return taken.map(\.item)
    }

    /// Removes and returns all items of a loop that has ended; its modes have no members any more.
    mutating func removeAll() -> [Item] {
        defer { entries = [] }
        return entries.map(\.item)
    }

    private func find(_ place: ItemPlace) -> Int? {
        let index = index(of: place)
        return index < entries.count && entries[index].place == place ? index : nil
    }

    /// Returns the index of the first entry that does not stand before the place.
    private func index(of place: ItemPlace) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].place < place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// What triggers, sources and observers have in common: a handler, which is freed when they become invalid, and their one loop.
final class Attachment<Handler: Sendable>: Sendable {
    struct State: Sendable {
        /// Nil once the item is invalid.
        var handler: Handler?
        /// Nil while the item is in no loop.
        var link: Link?
        var keepsLoopRunning = true
    }

    struct Link: Sendable {
        weak let loop: TimerLoop?
        let place: ItemPlace
    }

    private let state: Locked<State>

    init(_ handler: Handler) {
        state = Locked(State(handler: handler))
    }

    /// The handler; nil once the item is invalid.
    var handler: Handler? { state.withLock { $0.handler } }

    var keepsLoopRunning: Bool { state.withLock { $0.keepsLoopRunning } }

    /// The loop, and the item's place in it.
    var position: (loop: TimerLoop, place: ItemPlace)? { withPosition { _, position in position } }

    /// Calls `body` with the lock held, and with the item's place if it is in a loop. Releases the loop only after unlocking:
    /// this may be the loop's last reference, and a loop that ends takes this lock.
    func withPosition<Result>(_ body: (inout State, (loop: TimerLoop, place: ItemPlace)?) -> Result) -> Result {
        var held: TimerLoop?
        defer { withExtendedLifetime(held) {} }
        return state.withLock { state in
            held = state.link?.loop
            guard let loop = held, let link = state.link else { return body(&state, nil) }
            return body(&state, (loop, link.place))
        }
    }
}

/// A trigger, a source or an observer.
protocol LoopItem: AnyObject, Sendable {
    associatedtype Handler: Sendable
    /// What a loop keeps of the item.
    associatedtype Held: Sendable

    var attachment: Attachment<Handler> { get }
    var order: Int { get }
    var held: Held { get }
    /// Whether a loop that sleeps must wake when such an item comes or goes.
    static var wakesLoop: Bool { get }

    /// Calls `body` with the items of this kind, and the modes that they are in.
    static func withItems<Result>(
        of state: inout LoopState,
        _ body: (inout OrderedItems<Held>, inout ModeTable) -> Result
    ) -> Result

    /// Called with the loop's lock held when the item is in one more mode.
    func hasJoined(_ core: LoopCore, _ state: inout LoopState, at place: ItemPlace)
    /// Called with the loop's lock held when the item is in one mode less; `held` if that was its last one.
    static func hasLeft(_ core: LoopCore, _ state: inout LoopState, _ held: Held?, from place: ItemPlace)
    /// Called without the loop's lock afterwards.
    static func hasLeft(_ loop: TimerLoop)
}

extension LoopItem {
    static func hasLeft(_ core: LoopCore, _ state: inout LoopState, _ held: Held?, from place: ItemPlace) {}
    static func hasLeft(_ loop: TimerLoop) {}
}

// Adding to modes of a loop, and removing. Lock order: first the item's lock, then the loop's.
extension LoopItem {
    /// Adds the item to one more mode, unless it is invalid or in another loop. A loop that has ended makes it invalid.
    func join(_ loop: TimerLoop, _ mode: TimerLoop.Mode) {
        var refused: Handler?
        let isAdded = attachment.withPosition { state, present in
            guard state.handler != nil, present == nil || present?.loop === loop else { return false }
            guard let place = add(to: loop, mode, present?.place, state.keepsLoopRunning) else {
                refused = state.handler.take()
                return false
            }
            state.link = Attachment<Handler>.Link(loop: loop, place: place)
            return true
        }
        // Released after unlocking.
        withExtendedLifetime(refused) {}
        if isAdded, Self.wakesLoop { loop.wakeIfWaiting() }
    }

    /// Returns the item's place; nil if the loop has ended.
    private func add(
        to loop: TimerLoop,
        _ mode: TimerLoop.Mode,
        _ present: ItemPlace?,
        _ keepsRunning: Bool
    ) -> ItemPlace? {
        loop.state.withLock { state in
            guard !state.isEnded else { return nil }
            let index = state.modes.index(of: mode)
            let place = Self.withItems(of: &state) { items, modes in
                let place = present ?? items.add(held, order: order, keepsRunning: Self.wakesLoop && keepsRunning)
                items.setModes(modes.adding(index, to: items.modes(of: place)), of: place, in: &modes)
                return place
            }
            hasJoined(loop.core, &state, at: place)
            return place
        }
    }

    /// Takes the item out of one mode.
    func leave(_ loop: TimerLoop, _ mode: TimerLoop.Mode) {
        attachment.withPosition { state, present in
            if let present, present.loop === loop, remove(from: loop, mode, present.place) { state.link = nil }
        }
        Self.hasLeft(loop)
        if Self.wakesLoop { loop.wakeIfWaiting() }
    }

    /// Returns whether that was the item's last mode.
    private func remove(from loop: TimerLoop, _ mode: TimerLoop.Mode, _ place: ItemPlace) -> Bool {
        loop.state.withLock { state in
            guard let index = state.modes.known(mode) else { return false }
            let removed = Self.withItems(of: &state) { items, modes -> Held? in
                let rest = modes.removing(index, from: items.modes(of: place))
                items.setModes(rest, of: place, in: &modes)
                return modes.isEmpty(rest) ? items.remove(place, from: &modes) : nil
            }
            Self.hasLeft(loop.core, &state, removed, from: place)
            return removed != nil
        }
    }

    /// Whether the item is in that mode of the loop.
    func isIn(_ loop: TimerLoop, _ mode: TimerLoop.Mode) -> Bool {
        guard let position = attachment.position, position.loop === loop else { return false }
        return loop.state.withLock { state in
            guard let index = state.modes.known(mode) else { return false }
            return Self.withItems(of: &state) { $1.contains($0.modes(of: position.place), index) }
        }
    }

    /// Makes the item invalid: takes it out of all modes, and frees its handler. Idempotent.
    func end() {
        // Released after unlocking: freeing what a handler captured may call this item again.
        let handler = attachment.withPosition { state, present -> Handler? in
            if let present { forget(present.loop, present.place) }
            state.link = nil
            return state.handler.take()
        }
        withExtendedLifetime(handler) {}
    }

    private func forget(_ loop: TimerLoop, _ place: ItemPlace) {
        loop.core.update { state in
            let removed = Self.withItems(of: &state) { $0.remove(place, from: &$1) }
            Self.hasLeft(loop.core, &state, removed, from: place)
            return Self.wakesLoop && state.mustWakeNow()
        }
        Self.hasLeft(loop)
    }
}

extension TimerLoop {
    func wakeIfWaiting() { core.update { $0.mustWakeNow() } }

    /// Calls `body` with the items of a kind that are served now and meant, in their order, until it returns false. Leaves out
    /// an item that one before it has taken out.
    func forEachServed<Item: LoopItem>(
        _ kind: Item.Type,
        where isMeant: (Item) -> Bool,
        _ body: (Item) -> Bool
    ) where Item.Held == Item {
        let served = state.withLock { state in
            let items = kind.withItems(of: &state) { items, _ in items }
            return items.entries.filter { state.serves($0.modes) }
        }
        for entry in served where isMeant(entry.item) {
            let isServed = state.withLock { state in
                let modes = kind.withItems(of: &state) { items, _ in items.modes(of: entry.place) }
                return state.serves(modes)
            }
            if isServed, !body(entry.item) { return }
        }
    }
}
#endif
