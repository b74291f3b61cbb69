#if os(Linux)
import HRTimerCore

/// The modes a loop has met, and the sets of them that its timers and sources are in.
///
/// Each set has a number: what is in some modes keeps that, and whether it is served is one look at the set. `.common` is a
/// bit of its own in it, that of `CFRunLoop`'s common items: adding for `.common` sets the bits of all common modes, and a mode
/// that becomes a common one gets its bit in every set that has it.
struct ModeTable: Sendable {
    /// A set of modes, by its number.
    typealias SetID = Int32

    /// How many sets there are.
    var setCount: Int { sets.count }

    /// In no mode.
    static let nowhere: SetID = 0
    private static let common = 0

    private var indices: [TimerLoop.Mode: Int] = [.common: common, .default: 1, .tracking: 2]
    /// The last one looked up: hashing its name takes longer than arming a timer.
    private var latest = (mode: TimerLoop.Mode.default, index: 1)
    private var commonModes = NumberSet()
    /// By number. Equal ones may have several, after a mode became a common one.
    private var sets = [NumberSet()]
    private var ids = [NumberSet(): nowhere]
    /// How many timers and sources are in each set, and how many sets with any each mode is in.
    private var members = [0]
    private var populated = [0, 0, 0]
    /// The set of what was added for the mode alone, where known.
    private var singles: [SetID?] = [nil, nil, nil]

    init() {
        commonModes.insert(1)
        commonModes.insert(2)
    }

    /// The index of a mode the loop has met.
    func known(_ mode: TimerLoop.Mode) -> Int? { latest.mode == mode ? latest.index : indices[mode] }

    /// The index of a mode, also of a new one.
    mutating func index(of mode: TimerLoop.Mode) -> Int {
        if latest.mode == mode { return latest.index }
        let index = indices[mode] ?? populated.count
        latest = (mode, index)
        if index == populated.count {
            indices[mode] = index
            populated.append(0)
            singles.append(nil)
        }
        return index
    }

    /// The set of what is added for all of these modes.
    mutating func set(of modes: some Sequence<TimerLoop.Mode>) -> SetID {
        var set = Self.nowhere
        for mode in modes { set = adding(index(of: mode), to: set) }
        return set
    }

    @inline(__always)
    func contains(_ set: SetID, _ index: Int) -> Bool { sets[Int(set)].contains(index) }

    /// The modes of a set, by their names in order; those that are in it as common ones alone are not named beside `.common`.
    func names(of set: SetID) -> [String] {
        let isCommon = contains(set, Self.common)
        return indices.filter {
            contains(set, $0.value) && ($0.value == Self.common || !isCommon || !self.isCommon($0.value))
        }
        .map { Self.shortName($0.key) }.sorted()
    }

    private static func shortName(_ mode: TimerLoop.Mode) -> String {
        switch mode {
        case .default: "default"
        case .common: "common"
        case .tracking: "tracking"
        default: mode.rawValue
        }
    }

    func isEmpty(_ set: SetID) -> Bool { sets[Int(set)].isEmpty }

    /// The set with a mode more. For `.common` with all common modes.
    mutating func adding(_ index: Int, to set: SetID) -> SetID {
        if set == Self.nowhere, let single = singles[index] { return single }
        var changed = sets[Int(set)]
        changed.insert(index)
        if index == Self.common { changed.formUnion(commonModes) }
        let id = id(of: changed)
        if set == Self.nowhere { singles[index] = id }
        return id
    }

    /// The set without a mode. Without `.common`, and then without all common modes, if it was in the set.
    mutating func removing(_ index: Int, from set: SetID) -> SetID {
        guard contains(set, index) else { return set }
        var changed = sets[Int(set)]
        changed.remove(index)
        if index == Self.common { changed.subtract(commonModes) }
        return id(of: changed)
    }

    private mutating func id(of set: NumberSet) -> SetID {
        if let id = ids[set] { return id }
        let id = SetID(sets.count)
        sets.append(set)
        members.append(0)
        ids[set] = id
        return id
    }

    func isCommon(_ index: Int) -> Bool { commonModes.contains(index) }

    /// Everything in `.common` is in this mode too from now on.
    mutating func makeCommon(_ mode: TimerLoop.Mode) {
        let index = index(of: mode)
        guard index != Self.common, !commonModes.contains(index) else { return }
        commonModes.insert(index)
        for id in sets.indices where sets[id].contains(Self.common) && !sets[id].contains(index) {
            sets[id].insert(index)
            if members[id] > 0 { populated[index] += 1 }
        }
        ids = [:]
        for (id, set) in sets.enumerated() where ids[set] == nil { ids[set] = SetID(id) }
    }

    @inline(__always)
    mutating func addMember(_ set: SetID) {
        members[Int(set)] += 1
        if members[Int(set)] == 1 { forEachMode(of: set) { $0[$1] += 1 } }
    }

    @inline(__always)
    mutating func removeMember(_ set: SetID) {
        members[Int(set)] -= 1
        if members[Int(set)] == 0 { forEachMode(of: set) { $0[$1] -= 1 } }
    }

    /// One that was in the old set is in the new one; it comes from nowhere and goes there too.
    mutating func moveMember(from old: SetID, to new: SetID) {
        if new != Self.nowhere { addMember(new) }
        if old != Self.nowhere { removeMember(old) }
    }

    @inline(never)
    private mutating func forEachMode(of set: SetID, _ body: (inout [Int], Int) -> Void) {
        let modes = sets[Int(set)]
        for index in populated.indices where modes.contains(index) { body(&populated, index) }
    }

    /// Whether any timer or source belongs to the mode.
    func hasMembers(in index: Int) -> Bool { index >= 0 && populated[index] > 0 }

    mutating func removeAllMembers() {
        for id in members.indices { members[id] = 0 }
        for index in populated.indices { populated[index] = 0 }
    }
}
#endif
