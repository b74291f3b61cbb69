// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

extension TimerLoop {
    /// A named set of timers and sources.
    ///
    /// A loop runs in one mode at a time and serves only what belongs to that mode.
    ///
    /// Any string makes a mode. A mode that is never used costs nothing; one that was used costs a few bytes in its loop.
    public struct Mode: RawRepresentable, Hashable, Sendable {
        /// The mode's name.
        public let rawValue: String

        /// The mode of that name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The mode of that name.
        public init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The mode in which a loop runs when nothing special goes on.
        public static let `default` = Mode("kCFRunLoopDefaultMode")
        /// Stands for all modes that were declared common, at first `.default` and `.tracking`; see `addCommonMode(_:)`.
        ///
        /// A loop cannot run in `.common` itself.
        public static let common = Mode("kCFRunLoopCommonModes")
        /// The mode while a user drags or scrolls, under UIKit's name.
        ///
        /// A common mode from the start, as on iOS.
        public static let tracking = Mode("UITrackingRunLoopMode")
        /// The mode while a user drags or scrolls, under AppKit's name.
        ///
        /// Not a common mode unless it is declared one.
        public static let eventTracking = Mode("NSEventTrackingRunLoopMode")
        /// The mode while a modal panel is up.
        public static let modalPanel = Mode("NSModalPanelRunLoopMode")
    }
}

extension TimerLoop.Mode: CustomStringConvertible {
    /// The mode's name.
    public var description: String { rawValue }
}

/// The modes that a loop has met, and the sets of modes that its timers and sources are in.
///
/// Each set has a number, and a timer or source keeps the number of its set. Whether it is served is one look at the set.
/// `.common` has a bit of its own in a set, for what `CFRunLoop` calls common items: adding for `.common` sets the bits of
/// all common modes too, and a mode that becomes common gets its bit in every set that has the bit of `.common`.
struct ModeTable: Sendable {
    /// The number of a set of modes.
    typealias SetID = Int32

    /// The number of sets.
    var setCount: Int { sets.count }

    /// The empty set: in no mode.
    static let nowhere: SetID = 0
    private static let common = 0

    private var indices: [TimerLoop.Mode: Int] = [.common: common, .default: 1, .tracking: 2]
    /// The mode that was looked up last. Hashing a mode's name takes longer than arming a timer.
    private var latest = (mode: TimerLoop.Mode.default, index: 1)
    private var commonModes = NumberSet()
    /// The sets by their numbers. Equal sets may have several numbers after a mode became common.
    private var sets = [NumberSet()]
    private var ids = [NumberSet(): nowhere]
    /// `members` counts the timers and sources of each set; `populated` counts, for each mode, the sets with members that
    /// contain it.
    private var members = [0]
    private var populated = [0, 0, 0]
    /// For each mode, the set of what is added for that mode alone; nil until it is known.
    private var singles: [SetID?] = [nil, nil, nil]

    init() {
        commonModes.insert(1)
        commonModes.insert(2)
    }

    /// Returns the index of a mode, or nil if the loop has not met it.
    func known(_ mode: TimerLoop.Mode) -> Int? { latest.mode == mode ? latest.index : indices[mode] }

    /// Returns the index of a mode, and gives a new mode one.
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

    /// Returns the set of what is added for all of these modes.
    mutating func set(of modes: some Sequence<TimerLoop.Mode>) -> SetID {
        var set = Self.nowhere
        for mode in modes { set = adding(index(of: mode), to: set) }
        return set
    }

    func contains(_ set: SetID, _ index: Int) -> Bool { sets[Int(set)].contains(index) }

    /// Returns the names of the modes in a set, sorted. If `.common` is in the set, the common modes are not named.
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

    /// Returns the set with one more mode. `.common` comes with all common modes.
    mutating func adding(_ index: Int, to set: SetID) -> SetID {
        if set == Self.nowhere, let single = singles[index] { return single }
        var changed = sets[Int(set)]
        changed.insert(index)
        if index == Self.common { changed.formUnion(commonModes) }
        let id = id(of: changed)
        if set == Self.nowhere { singles[index] = id }
        return id
    }

    /// Returns the set without a mode; for `.common`, without all common modes too. Returns the same set if the mode is not
    /// in it.
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

    /// Makes a mode common: everything in `.common` is in this mode too from now on.
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

    mutating func addMember(_ set: SetID) {
        members[Int(set)] += 1
        if members[Int(set)] == 1 { forEachMode(of: set) { $0[$1] += 1 } }
    }

    mutating func removeMember(_ set: SetID) {
        members[Int(set)] -= 1
        if members[Int(set)] == 0 { forEachMode(of: set) { $0[$1] -= 1 } }
    }

    /// Moves one member from the old set to the new one. Either may be `nowhere`, which does not count its members.
    mutating func moveMember(from old: SetID, to new: SetID) {
        if new != Self.nowhere { addMember(new) }
        if old != Self.nowhere { removeMember(old) }
    }

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
