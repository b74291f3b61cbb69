#if os(Linux)
/// Timers that were taken out of the queue and have not been fired yet, in order of (deadline, sequence): those that
/// are due, those of groups that are not served, and such as a precise wait took before their deadline.
///
/// One list for each group. A nested run of a loop takes nothing away from the run around it, and starved timers cost
/// nothing until their mode runs. A timer whose deadline or group changes leaves its place: O(log n), amortised.
package struct ExpiredTimers: ~Copyable, @unchecked Sendable {
    // Sendable: it alone owns the memory of its lists, and being noncopyable is in one place at a time.

    package struct Entry: Sendable {
        /// Its deadline; a later instant if it was armed for the past, see `FiringCore.setDeadline`.
        package let place_ns: Int64
        /// The sequence number of its arming: the order among equal deadlines.
        package let sequence: UInt64
        package var token: TimerToken

        @inline(__always)
        static func < (left: Entry, right: Entry) -> Bool {
            left.place_ns != right.place_ns ? left.place_ns < right.place_ns : left.sequence < right.sequence
        }
    }

    /// By pointers, since to look into an array in an array counts references. Few: one for each set of modes in use.
    private var lists: UnsafeMutableBufferPointer<List>
    private var listCount = 0
    private var count = 0
    /// Right after `pop` two that are expired, most likely the next and the one after it; stale if none is known.
    private(set) var likelyNext = (first: TimerToken.stale, second: TimerToken.stale)

    init() {
        lists = .allocate(capacity: 4)
    }

    deinit {
        for place in 0..<listCount { lists[place].free() }
        lists.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    mutating func insert(_ entry: Entry, _ group: FiringGroup) {
        count += 1
        // First: a list that is made may move the others.
        let place = listPlace(of: group)
        lists[place].insert(entry)
    }

    /// The list of the group, to be inserted into by `insert(_:at:)` without another look for it.
    @inline(__always)
    mutating func listPlace(of group: FiringGroup) -> Int { place(of: group) ?? makeList(group) }

    func isList(_ place: Int, of group: FiringGroup) -> Bool { lists[place].group == group }

    @inline(__always)
    mutating func insert(_ entry: Entry, at place: Int) {
        count += 1
        lists[place].insert(entry)
    }

    @inline(__always)
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
            _ = more.moveInitialize(fromContentsOf: lists)
            lists.deallocate()
            lists = more
        }
        lists.initializeElement(at: listCount, to: List(group: group))
        listCount += 1
        return listCount - 1
    }

    /// The entry must be there.
    mutating func remove(_ entry: Entry, _ group: FiringGroup) {
        guard let place = place(of: group) else { return }
        let position = lists[place].position(of: entry)
        assert(lists[place].entries[position].token.slot == entry.token.slot, "the timer is in another place")
        lists[place].remove(at: position)
        count -= 1
    }

    /// The earliest of the groups that are served.
    @inline(__always)
    func first(_ served: borrowing NumberSet) -> Entry? {
        if isEmpty { return nil }
        var first: Entry?
        for place in 0..<listCount where !lists[place].isEmpty && served.contains(Int(lists[place].group)) {
            let entry = lists[place].entries[lists[place].first]
            if first.map({ entry < $0 }) ?? true { first = entry }
        }
        return first
    }

    /// Where an entry is, until something is inserted or removed.
    struct Position {
        var list: Int
        var index: Int
    }

    subscript(position: Position) -> Entry { lists[position.list].entries[position.index] }

    /// The earliest of the groups that are served, within the limit.
    @inline(__always)
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

    /// Takes it out.
    @inline(__always)
    mutating func pop(_ position: Position) -> Entry {
        let list = position.list
        let entry = lists[list].entries[position.index]
        lists[list].remove(at: position.index)
        count -= 1
        likelyNext = lists[list].firstTwo
        return entry
    }

    mutating func removeAll() {
        for place in 0..<listCount { lists[place].free() }
        listCount = 0
        count = 0
        likelyNext = (.stale, .stale)
    }
}

/// What belongs to a pass of a loop: due when it began, and armed before.
package struct PassLimit: Sendable {
    package var now_ns: Int64
    package var sequence: UInt64

    package init(now_ns: Int64, sequence: UInt64) {
        self.now_ns = now_ns
        self.sequence = sequence
    }
}

/// The expired timers of one group, sorted, in `entries[first..<end]`. Those that left are stale, never the first and
/// never the last.
///
/// Its owner frees it.
private struct List {
    typealias Entry = ExpiredTimers.Entry

    var group: FiringGroup
    var entries: UnsafeMutablePointer<Entry>
    var first = 0
    private var end = 0
    private var capacity = List.leastCapacity
    private var staleCount = 0

    private static var leastCapacity: Int { 64 }
    /// More than that is given back when the list is empty.
    private static var keptCapacity: Int { 1024 }

    init(group: FiringGroup) {
        self.group = group
        entries = .allocate(capacity: capacity)
    }

    func free() { entries.deallocate() }

    var isEmpty: Bool { first == end }

    /// Stale where there is none.
    @inline(__always)
    var firstTwo: (TimerToken, TimerToken) {
        (
            first < end ? entries[first].token : .stale,
            first + 1 < end ? entries[first + 1].token : .stale
        )
    }

    @inline(__always)
    mutating func insert(_ entry: Entry) {
        if end == capacity { makeRoom() }
        if first == end || !(entry < entries[end - 1]) {
            entries[end] = entry
            end += 1
        } else {
            insertBetween(entry)
        }
    }

    @inline(never)
    private mutating func insertBetween(_ entry: Entry) {
        let position = position(of: entry)
        if position == first, first > 0 {
            first -= 1
            entries[first] = entry
            return
        }
        (entries + position + 1).update(from: entries + position, count: end - position)
        entries[position] = entry
        end += 1
    }

    /// At the end: by moving to the begin what is left, if that is less than half.
    @inline(never)
    private mutating func makeRoom() {
        if first > capacity / 2 {
            move(to: entries)
        } else {
            move(to: .allocate(capacity: 2 * capacity), capacity: 2 * capacity)
        }
    }

    private mutating func move(to memory: UnsafeMutablePointer<Entry>, capacity: Int? = nil) {
        memory.update(from: entries + first, count: end - first)
        if let capacity {
            entries.deallocate()
            entries = memory
            self.capacity = capacity
        }
        end -= first
        first = 0
    }

    /// Where the entry is, or belongs.
    func position(of entry: Entry) -> Int {
        var (low, high) = (first, end)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Passes over only the entries that a nested run took and bursts re-armed meanwhile.
    @inline(__always)
    func first(within limit: PassLimit) -> Int? {
        var position = first
        while position < end, entries[position].place_ns <= limit.now_ns {
            if entries[position].token != .stale, entries[position].sequence <= limit.sequence { return position }
            position += 1
        }
        return nil
    }

    @inline(__always)
    mutating func remove(at position: Int) {
        if position == first, staleCount == 0 {
            first += 1
            if first == end { becomeEmpty() }
        } else {
            removeRarely(at: position)
        }
    }

    @inline(never)
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
            entries.deallocate()
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
