import HRTimerCore

/// Timers that were taken out of the queue and have not had their call yet, in order of (deadline, arming): due ones, starved
/// ones of modes that do not run, and such as a precise wait took before their deadline.
///
/// One list for each set of modes. A run looks at those lists that its mode is in: a nested run takes nothing away from the run
/// around it, and starved timers cost nothing until their mode runs. A timer whose deadline or modes change leaves its place:
/// O(log n), amortised.
struct OverdueTimers: Sendable {
    struct Entry: Sendable {
        let deadline_ns: Int64
        /// The number of its arming: the order among equal deadlines.
        let arming: UInt64
        var token: TimerToken

        static func < (left: Entry, right: Entry) -> Bool {
            left.deadline_ns != right.deadline_ns
                ? left.deadline_ns < right.deadline_ns : left.arming < right.arming
        }
    }

    /// What belongs to a pass: due when it began, and armed before.
    struct Limit: Sendable {
        var now_ns: Int64
        var arming: UInt64
    }

    fileprivate struct List: Sendable {
        var modes: ModeTable.SetID
        /// From `first` on, sorted. Those that left are stale, never the first and never the last.
        var entries: [Entry] = []
        var first = 0
        var staleCount = 0

        var isEmpty: Bool { first == entries.count }
    }

    private var lists: [List] = []
    /// Right after `popFirst` one that is overdue, most likely the next; stale if none is known.
    private(set) var likelyNext = TimerToken.stale

    mutating func insert(_ entry: Entry, _ modes: ModeTable.SetID) {
        let place = lists.firstIndex { $0.modes == modes } ?? makeList(modes)
        guard let last = lists[place].entries.last, entry < last else {
            lists[place].entries.append(entry)
            return
        }
        let position = lists[place].position(of: entry)
        if position == lists[place].first, position > 0 {
            lists[place].first -= 1
            lists[place].entries[position - 1] = entry
        } else {
            lists[place].entries.insert(entry, at: position)
        }
    }

    private mutating func makeList(_ modes: ModeTable.SetID) -> Int {
        if let place = lists.firstIndex(where: { $0.isEmpty }) {
            lists[place].modes = modes
            return place
        }
        lists.append(List(modes: modes))
        return lists.count - 1
    }

    /// The entry must be there.
    mutating func remove(_ entry: Entry, _ modes: ModeTable.SetID) {
        guard let place = lists.firstIndex(where: { $0.modes == modes }) else { return }
        let position = lists[place].position(of: entry)
        assert(lists[place].entries[position].token == entry.token, "the timer is in another place")
        lists[place].remove(at: position)
    }

    /// The earliest that the mode serves.
    func first(_ index: Int, _ modes: borrowing ModeTable) -> Entry? {
        var first: Entry?
        for list in lists where !list.isEmpty && modes.contains(list.modes, index) {
            let entry = list.entries[list.first]
            if first.map({ entry < $0 }) ?? true { first = entry }
        }
        return first
    }

    /// Takes the earliest that the mode serves and that belongs to the pass.
    @inline(__always)
    mutating func popFirst(_ index: Int, within limit: Limit, _ modes: borrowing ModeTable) -> TimerToken? {
        var found: (place: Int, position: Int)?
        for place in lists.indices {
            guard modes.contains(lists[place].modes, index), let position = lists[place].first(within: limit) else {
                continue
            }
            if let other = found, !(lists[place].entries[position] < lists[other.place].entries[other.position]) {
                continue
            }
            found = (place, position)
        }
        guard let found else { return nil }
        let token = lists[found.place].entries[found.position].token
        lists[found.place].remove(at: found.position)
        likelyNext = lists[found.place].isEmpty ? .stale : lists[found.place].entries[lists[found.place].first].token
        return token
    }

    mutating func removeAll() {
        lists = []
        likelyNext = .stale
    }
}

extension OverdueTimers.List {
    /// Where the entry is, or belongs.
    func position(of entry: OverdueTimers.Entry) -> Int {
        var (low, high) = (first, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Only what a nested run took, armed anew meanwhile by bursts, is passed over.
    @inline(__always)
    func first(within limit: OverdueTimers.Limit) -> Int? {
        var position = first
        while position < entries.count, entries[position].deadline_ns <= limit.now_ns {
            if entries[position].token != .stale, entries[position].arming <= limit.arming { return position }
            position += 1
        }
        return nil
    }

    @inline(__always)
    mutating func remove(at position: Int) {
        if position == first {
            first += 1
            dropStale()
        } else {
            entries[position].token = .stale
            staleCount += 1
            dropStale()
            if staleCount > 32, staleCount > (entries.count - first) / 2 { compact() }
        }
    }

    @inline(__always)
    private mutating func dropStale() {
        while staleCount > 0, first < entries.count, entries[first].token == .stale {
            first += 1
            staleCount -= 1
        }
        while staleCount > 0, let last = entries.last, last.token == .stale {
            entries.removeLast()
            staleCount -= 1
        }
        if first == entries.count {
            entries.removeAll(keepingCapacity: entries.capacity <= 1024)
            first = 0
        } else if first > 1024, first > entries.count / 2 {
            entries.removeFirst(first)
            first = 0
        }
    }

    private mutating func compact() {
        entries.removeFirst(first)
        entries.removeAll { $0.token == .stale }
        first = 0
        staleCount = 0
    }
}
