extension TimerLoop {
    /// A named set of timers and sources: a loop runs in one mode at a time and serves only what belongs to it.
    ///
    /// Any string makes a mode. One that is never used costs nothing, one that was used a few bytes in its loop.
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

        /// What a loop runs in when nothing special goes on.
        public static let `default` = Mode("kCFRunLoopDefaultMode")
        /// Stands for all modes that were declared common, `.default` to begin with; see `addCommonMode(_:)`. A loop cannot
        /// run in it.
        public static let common = Mode("kCFRunLoopCommonModes")
        /// While a user drags or scrolls.
        public static let eventTracking = Mode("NSEventTrackingRunLoopMode")
        /// While a modal panel is up.
        public static let modal = Mode("NSModalPanelRunLoopMode")
        /// Before the application has finished launching.
        public static let initialization = Mode("kCFRunLoopInitializationMode")
    }
}

/// Modes of one loop, by their index: a word of bits, and more words for whoever has more than 64 modes.
struct ModeSet: Sendable, Hashable {
    private var first: UInt64 = 0
    private var rest: [UInt64] = []

    var isEmpty: Bool { first == 0 && rest.allSatisfy { $0 == 0 } }

    var count: Int { rest.reduce(first.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

    func contains(_ index: Int) -> Bool {
        word(index / 64) >> (index % 64) & 1 != 0
    }

    func intersects(_ other: ModeSet) -> Bool {
        if first & other.first != 0 { return true }
        return zip(rest, other.rest).contains { $0 & $1 != 0 }
    }

    mutating func insert(_ index: Int) { setWord(index / 64, word(index / 64) | 1 << (index % 64)) }

    mutating func remove(_ index: Int) { setWord(index / 64, word(index / 64) & ~(1 << (index % 64))) }

    mutating func formUnion(_ other: ModeSet) {
        first |= other.first
        for (index, bits) in other.rest.enumerated() { setWord(index + 1, word(index + 1) | bits) }
    }

    private func word(_ index: Int) -> UInt64 {
        if index == 0 { return first }
        return index <= rest.count ? rest[index - 1] : 0
    }

    private mutating func setWord(_ index: Int, _ bits: UInt64) {
        if index == 0 {
            first = bits
            return
        }
        while rest.count < index { rest.append(0) }
        rest[index - 1] = bits
    }
}

/// The modes a loop has met: their indices, which of them are common, and how many timers and sources each has.
struct ModeTable: Sendable {
    private static let common = 0
    private var indices: [TimerLoop.Mode: Int] = [.common: common, .default: 1]
    private var members = [0, 0]
    private var populated = ModeSet()
    private var commonModes = ModeSet()

    init() {
        commonModes.insert(1)
    }

    /// The index of a mode the loop has met.
    func known(_ mode: TimerLoop.Mode) -> Int? { indices[mode] }

    /// The index of a mode, also of a new one.
    mutating func index(of mode: TimerLoop.Mode) -> Int {
        if let index = indices[mode] { return index }
        let index = members.count
        indices[mode] = index
        members.append(0)
        return index
    }

    mutating func set(of modes: some Sequence<TimerLoop.Mode>) -> ModeSet {
        var set = ModeSet()
        for mode in modes { set.insert(index(of: mode)) }
        return set
    }

    mutating func makeCommon(_ mode: TimerLoop.Mode) {
        commonModes.insert(index(of: mode))
    }

    /// What is served while the loop runs in a mode: what was added for it, and for `.common` if the mode is a common one.
    /// Something belongs to the running mode if its own set intersects this one.
    func served(in index: Int) -> ModeSet {
        var served = ModeSet()
        served.insert(index)
        if commonModes.contains(index) { served.insert(Self.common) }
        return served
    }

    mutating func addMember(to index: Int) {
        members[index] += 1
        populated.insert(index)
    }

    mutating func removeMember(from index: Int) {
        members[index] -= 1
        if members[index] == 0 { populated.remove(index) }
    }

    mutating func removeMember(from modes: ModeSet) {
        for index in members.indices where modes.contains(index) { removeMember(from: index) }
    }

    /// Whether any timer or source belongs to the modes.
    func hasMembers(in served: ModeSet) -> Bool { populated.intersects(served) }

    mutating func removeAllMembers() {
        for index in members.indices { members[index] = 0 }
        populated = ModeSet()
    }
}
