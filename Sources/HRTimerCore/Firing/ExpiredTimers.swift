// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// Timers that were taken out of the queue and have not been fired yet, in order of (deadline, sequence): those that are due,
/// those of groups that are not served, and those that a precise wait took before their deadline.
///
/// One list for each group: a nested run of a loop takes nothing away from the run around it, and starved timers cost nothing
/// until their mode runs. A timer whose deadline or group changes leaves its place: O(log n), amortised.
@safe package struct ExpiredTimers: ~Copyable, @unchecked Sendable {
    // Sendable and safe: it alone owns the memory of its lists and, being noncopyable, it is in one place at a time.

    package struct Entry: Sendable {
        /// The deadline, or a later instant if the timer was armed for the past: see `FiringCore.place`.
        package let place_ns: Int64
        /// The sequence number of its arming: the order among equal deadlines.
        package let sequence: UInt64
        package var token: TimerToken

        static func < (left: Entry, right: Entry) -> Bool {
            left.place_ns != right.place_ns ? left.place_ns < right.place_ns : left.sequence < right.sequence
        }
    }

    /// Pointers, since access to an array inside an array counts references. Few lists: one for each set of modes in use. Safe: places are
    /// below `listCount`.
    @safe private var lists: UnsafeMutableBufferPointer<List>
    private var listCount = 0
    private var count = 0

    /// Makes the first list at once, whatever group will use it, so that no fire has to allocate it. A request of 1 KiB or more
    /// has glibc's malloc(3) merge all small blocks that were freed before (`malloc_consolidate`), however many there are.
    init() {
        lists = .allocate(capacity: 4)
        unsafe lists.initializeElement(at: 0, to: List(group: 0))
        listCount = 1
    }

    deinit {
        for place in 0..<listCount { lists[place].free() }
        unsafe lists.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    mutating func insert(_ entry: Entry, _ group: FiringGroup) {
        count += 1
        // First: making a list may move the others.
        let place = listPlace(of: group)
        lists[place].insert(entry)
    }

    /// Returns the place of the group's list, which is made if needed. `insert(_:at:)` then inserts without another search.
    mutating func listPlace(of group: FiringGroup) -> Int { place(of: group) ?? makeList(group) }

    func isList(_ place: Int, of group: FiringGroup) -> Bool { lists[place].group == group }

    mutating func insert(_ entry: Entry, at place: Int) {
        count += 1
        lists[place].insert(entry)
    }

    private func place(of group: FiringGroup) -> Int? {
        for place in 0..<listCount where lists[place].group == group { return place }
        return nil
    }

    private mutating func makeList(_ group: FiringGroup) -> Int {
        for place in 0..<listCount where lists[place].isEmpty {
            lists[place].group = group
            return place
        }
        if listCount == lists.count {
            let more = UnsafeMutableBufferPointer<List>.allocate(capacity: 2 * listCount)
            _ = unsafe more.moveInitialize(fromContentsOf: lists)
            unsafe lists.deallocate()
            lists = unsafe more
        }
        unsafe lists.initializeElement(at: listCount, to: List(group: group))
        listCount += 1
        return listCount - 1
    }

    /// Removes an entry, which must be there.
    mutating func remove(_ entry: Entry, _ group: FiringGroup) {
        guard let place = place(of: group) else { return }
        let position = lists[place].position(of: entry)
        assert(lists[place].entries[position].token.slot == entry.token.slot, "the timer is in another place")
        lists[place].remove(at: position)
        count -= 1
    }

    /// Returns the earliest entry of the groups that are served.
    func first(_ served: borrowing NumberSet) -> Entry? {
        if isEmpty { return nil }
        var first: Entry?
        for place in 0..<listCount where !lists[place].isEmpty && served.contains(Int(lists[place].group)) {
            let entry = lists[place].entries[lists[place].first]
            if first.map({ entry < $0 }) ?? true { first = entry }
        }
        return first
    }

    /// The place of an entry. Valid until something is inserted or removed.
    struct Position {
        var list: Int
        var index: Int
    }

    subscript(position: Position) -> Entry { lists[position.list].entries[position.index] }

    /// Returns the place of the earliest entry within the limit, among the groups that are served.
    func find(within limit: PassLimit, _ served: borrowing NumberSet) -> Position? {
        if isEmpty { return nil }
        var found: Position?
        for place in 0..<listCount {
            guard served.contains(Int(lists[place].group)), let position = lists[place].first(within: limit) else {
                continue
            }
            if let found, !(lists[place].entries[position] < self[found]) { continue }
            found = Position(list: place, index: position)
        }
        return found
    }

    /// Removes the entry at that place and returns it.
    mutating func pop(_ position: Position) -> Entry {
        let list = position.list
        let entry = lists[list].entries[position.index]
        lists[list].remove(at: position.index)
        count -= 1
        return entry
    }

    mutating func removeAll() {
        for place in 0..<listCount { lists[place].free() }
        listCount = 0
        count = 0
    }
}

/// The limit of a loop's pass: it fires what was due when it began, and was armed before that.
package struct PassLimit: Sendable {
    package var now_ns: Int64
    package var sequence: UInt64

    package init(now_ns: Int64, sequence: UInt64) {
        self.now_ns = now_ns
        self.sequence = sequence
    }
}

/// The expired timers of one group, sorted, in `entries[first..<end]`. Entries of timers that have left are stale; the first
/// and the last entry never are.
///
/// The owner of the list frees its memory, and does not copy the list. Safe: only entries between `first` and `end` are read.
@safe private struct List {
    typealias Entry = ExpiredTimers.Entry

    var group: FiringGroup
    @safe var entries: UnsafeMutablePointer<Entry>
    var first = 0
    private var end = 0
    private var capacity = List.leastCapacity
    private var staleCount = 0

    private static var leastCapacity: Int { 64 }
    /// The capacity above which an empty list gives its memory back.
    private static var keptCapacity: Int { 1024 }

    init(group: FiringGroup) {
        self.group = group
        entries = .allocate(capacity: capacity)
    }

    func free() { unsafe entries.deallocate() }

    var isEmpty: Bool { first == end }

    mutating func insert(_ entry: Entry) {
        if end == capacity { makeRoom() }
        if first == end || !(entry < entries[end - 1]) {
            entries[end] = entry
            end += 1
        } else {
            insertBetween(entry)
        }
    }

    private mutating func insertBetween(_ entry: Entry) {
        let position = position(of: entry)
        if position == first, first > 0 {
            first -= 1
            entries[first] = entry
            return
        }
        unsafe (entries + position + 1).update(from: entries + position, count: end - position)
        entries[position] = entry
        end += 1
    }

    /// Makes room at the end: moves the entries to the beginning if they fill less than half of the memory, or else doubles it.
    private mutating func makeRoom() {
        if first > capacity / 2 {
            unsafe move(to: entries)
        } else {
            unsafe move(to: .allocate(capacity: 2 * capacity), capacity: 2 * capacity)
        }
    }

    private mutating func move(to memory: UnsafeMutablePointer<Entry>, capacity: Int? = nil) {
        unsafe memory.update(from: entries + first, count: end - first)
        if let capacity {
            unsafe entries.deallocate()
            entries = unsafe memory
            self.capacity = capacity
        }
        end -= first
        first = 0
    }

    /// Returns the place where the entry is, or belongs.
    func position(of entry: Entry) -> Int {
        var (low, high) = (first, end)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the place of the first entry within the limit. Skips only stale entries, for example those that a nested run
    /// took, and entries armed since the pass began, for example by bursts.
    func first(within limit: PassLimit) -> Int? {
        var position = first
        while position < end, entries[position].place_ns <= limit.now_ns {
            if entries[position].token != .stale, entries[position].sequence <= limit.sequence { return position }
            position += 1
        }
        return nil
    }

    mutating func remove(at position: Int) {
        if position == first, staleCount == 0 {
            first += 1
            if first == end { becomeEmpty() }
        } else {
            removeRarely(at: position)
        }
    }

    private mutating func removeRarely(at position: Int) {
        if position == first {
            first += 1
        } else {
            entries[position].token = .stale
            staleCount += 1
        }
        while staleCount > 0, first < end, entries[first].token == .stale {
            first += 1
            staleCount -= 1
        }
        while staleCount > 0, first < end, entries[end - 1].token == .stale {
            end -= 1
            staleCount -= 1
        }
        if first == end { becomeEmpty() }
        if staleCount > 32, staleCount > (end - first) / 2 { compact() }
    }

    private mutating func becomeEmpty() {
        (first, end) = (0, 0)
        if capacity > Self.keptCapacity {
            unsafe entries.deallocate()
            capacity = Self.leastCapacity
            entries = .allocate(capacity: capacity)
        }
    }

    private mutating func compact() {
        var kept = first
        for position in first..<end where entries[position].token != .stale {
            entries[kept] = entries[position]
            kept += 1
        }
        end = kept
        staleCount = 0
    }
}
#endif
