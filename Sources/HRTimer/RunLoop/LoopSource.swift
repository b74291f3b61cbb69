#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc

/// Watches a descriptor in a loop: what Foundation has no public type for on Linux.
///
///     let source = try LoopSource(descriptor: socket, events: .readable) { source, events in … }
///     try TimerLoop.current.add(source, forMode: .default)
///
/// Level-triggered if nothing else is asked for: the handler is called in every pass in which the descriptor is ready, on the
/// loop's thread, until it has read or written what there is. All sources of a descriptor in one loop are triggered alike:
/// the loop refuses another one. A hang-up or an error counts as ready for all requested events. A run inside the
/// handler calls it again if the descriptor is still ready. The handler is freed by `invalidate()`. Any thread.
///
/// The descriptor is borrowed: it may be closed as soon as `invalidate()` returned, not before. While another thread runs
/// the loop, or a host has it on an `event_base`, close one that has duplicates (`dup(2)`, a child's) in a block that the
/// loop performs: `epoll(7)` goes on watching the open file until the loop's thread removes it, which needs the
/// descriptor. libevent's `event_add` with `EV_PERSIST`, `epoll(7)`.
public final class LoopSource: Sendable {
    /// What a descriptor can be ready for.
    public struct Events: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32

        /// A set by its bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Data, a connection, or the end of file can be had without blocking.
        public static let readable = Events(rawValue: UInt32(HRT_READABLE))
        /// Something can be written without blocking.
        public static let writable = Events(rawValue: UInt32(HRT_WRITABLE))
    }

    /// When a handler is called.
    public enum Triggering: Sendable {
        /// In every pass in which the descriptor is ready.
        case level
        /// When it became ready, or got more, since the last call: `EPOLLET` of `epoll(7)`. The handler reads or writes a
        /// non-blocking descriptor until EAGAIN; for what it leaves there may be no further call.
        case edge
    }

    /// What a source calls; the events are those found, of those asked for.
    public typealias Handler = @Sendable (LoopSource, Events) -> Void
    /// The same, or a function of an actor, which is called on that: at once where the loop's thread is the actor's, as with
    /// `TimerLoop.main` and the main actor; elsewhere by a task, and until that has been the descriptor is not watched, if it is
    /// level-triggered. A closure in code of a global actor belongs to that.
    public typealias Block = @isolated(any) @Sendable (LoopSource, Events) -> Void

    /// What it watches.
    public let descriptor: Int32
    /// What it watches it for.
    public let events: Events
    /// Whether it calls while, or when, the descriptor is ready.
    public let triggering: Triggering
    let attachment: Attachment<Handler>
    /// Closes with the source what it opened itself.
    private let owned: OwnedDescriptor?

    /// A source that is in no loop yet. Throws EBADF for what is no descriptor, and EPERM for what is always ready and cannot be
    /// watched: a regular file, a directory, a device like `/dev/null`; EINVAL if it is to be watched for nothing.
    public convenience init(
        descriptor: Int32,
        events: Events = .readable,
        triggering: Triggering = .level,
        @_inheritActorContext handler: @escaping Block
    ) throws(TimerError) {
        if events.isDisjoint(with: [.readable, .writable]) {
            throw TimerError(
                operation: "watch descriptor \(descriptor) for neither reading nor writing",
                errorNumber: EINVAL
            )
        }
        let status = hrt_loop_can_watch(descriptor)
        let why = status == -EPERM ? ", which is always ready, as files, directories and /dev/null are" : ""
        try check(status, "watch descriptor \(descriptor)\(why)")
        self.init(descriptor, events, triggering, owned: nil, Self.handler(handler, triggering))
    }

    /// The block, called on its actor, if it has one.
    private static func handler(_ block: @escaping Block, _ triggering: Triggering) -> Handler {
        if triggering == .edge { return onItsActor(unless: { !$0.isValid }, block) }
        let plain = withoutActor(block)
        guard let actor = block.isolation else { return plain }
        let calls = ActorCalls(merges: true)
        return { source, events in
            if ActorCalls.isHere(actor) { return plain(source, events) }
            // It would be found again in every pass until the actor has read what there is.
            source.attachment.loop?.setHeld(source, true)
            calls.call(on: actor, unless: { !source.isValid }) {
                plain(source, events)
                source.attachment.loop?.setHeld(source, false)
            }
        }
    }

    init(
        _ descriptor: Int32,
        _ events: Events,
        _ triggering: Triggering = .level,
        owned: OwnedDescriptor?,
        _ handler: @escaping Handler
    ) {
        self.descriptor = descriptor
        self.events = events
        self.triggering = triggering
        self.owned = owned
        attachment = Attachment(handler)
    }

    /// False once invalidated, or refused by the kernel when the loop came to watch it.
    public var isValid: Bool { attachment.handler != nil }

    /// Whether a run of its loop goes on for this source, as `LoopTimer.keepsLoopRunning`. True at first. Any thread.
    public var keepsLoopRunning: Bool {
        get { attachment.keepsLoopRunning }
        set { attachment.setKeepsLoopRunning(newValue) { $0.setKeepsRunning(self, newValue) } }
    }

    /// Takes it out of its loop and frees the handler. No call comes after this on the loop's own thread; elsewhere one that
    /// has begun goes on. Idempotent.
    public func invalidate() {
        attachment.end { $0.forget(self) }
    }
}

/// Closed with its last reference.
final class OwnedDescriptor: Sendable {
    let number: Int32
    private let close: @Sendable (Int32) -> Void

    init(_ number: Int32, close: @escaping @Sendable (Int32) -> Void) {
        self.number = number
        self.close = close
    }

    deinit {
        close(number)
    }
}

/// The descriptors of one loop. Watches belong to the loop's thread, entries to the lock.
struct WatchedDescriptors: Sendable {
    struct Entry: Sendable {
        let source: LoopSource
        var modes: ModeTable.SetID
        var watch: Watch?
        /// Whether it is a member of its modes.
        var keepsLoopRunning = true
        /// Found, and not reported yet: an edge is not found again.
        var edges: UInt32 = 0
        /// To be called though nothing may be found.
        var isSignalled = false
        /// Asked before that call; nil if it comes in any case.
        var waits: (@Sendable () -> Bool)?
        /// Somebody may have read what was found.
        var mustLook = false
        /// Not watched: its handler waits for its actor.
        var isHeld = false

        var mustTell: Bool { (edges != 0 || isSignalled) && !isHeld }
    }

    // Sendable: an address, used by the loop's thread alone.
    struct Watch: @unchecked Sendable {
        let address: OpaquePointer
    }

    var entries: [UInt64: Entry] = [:]
    /// In the order in which they were found; stale ones are among them.
    private var edgeTags: [UInt64] = []
    /// Watches of sources that are gone.
    var stale: [Watch] = []
    /// Something changed since the loop's thread looked.
    var hasChanged = false
    /// The mode that is watched for.
    private var watched = -1
    /// How each descriptor is watched, and by which sources: epoll knows one way for a descriptor.
    private var triggering: [Int32: (way: LoopSource.Triggering, ids: [UInt64])] = [:]
    /// Known to those who read a descriptor before its sources can.
    var isRegistered = false

    /// Whether a source of the descriptor is there that is triggered otherwise.
    func hasOtherTriggering(than source: LoopSource) -> Bool {
        triggering[source.descriptor].map { $0.way != source.triggering } ?? false
    }

    mutating func insert(_ entry: Entry) {
        let id = entry.source.attachment.id
        hasChanged = true
        if entries.updateValue(entry, forKey: id) == nil {
            triggering[entry.source.descriptor, default: (entry.source.triggering, [])].ids.append(id)
        }
    }

    mutating func remove(id: UInt64) -> Entry? {
        guard let entry = entries.removeValue(forKey: id) else { return nil }
        if let watch = entry.watch { stale.append(watch) }
        hasChanged = true
        let descriptor = entry.source.descriptor
        triggering[descriptor]?.ids.removeAll { $0 == id }
        if triggering[descriptor]?.ids.isEmpty == true { triggering[descriptor] = nil }
        return entry
    }

    /// Watches what the running mode serves and nothing else. Gives the sources that the kernel refused.
    @inline(__always)
    mutating func update(_ waiter: LoopWaiter, _ index: Int, _ modes: ModeTable) -> [LoopSource]? {
        guard hasChanged || watched != index && !entries.isEmpty else { return nil }
        let refused = updateAll(waiter, index, modes)
        return refused.isEmpty ? nil : refused
    }

    private mutating func updateAll(_ waiter: LoopWaiter, _ index: Int, _ modes: ModeTable) -> [LoopSource] {
        hasChanged = false
        watched = index
        unwatchStale(waiter)
        var refused: [LoopSource] = []
        for (id, entry) in entries {
            let isServed = modes.contains(entry.modes, index) && !entry.isHeld
            if isServed, entry.watch == nil {
                entries[id]?.watch = waiter.watch(entry.source, tag: id)
                if entries[id]?.watch == nil { refused.append(entry.source) }
            } else if !isServed, let watch = entry.watch {
                waiter.unwatch(watch)
                entries[id]?.watch = nil
                // Watched again it is found again, if it is ready still.
                entries[id]?.edges = 0
            }
        }
        return refused
    }

    /// Keeps the edges, and gives the rest back.
    mutating func noteEdges(_ ready: [hrt_ready]) -> [hrt_ready] {
        ready.filter { ready in
            guard let entry = entries[ready.tag], entry.source.triggering == .edge else { return true }
            noteToTell(ready.tag, entry)
            entries[ready.tag]?.edges |= ready.events
            return false
        }
    }

    var hasEdges: Bool { !edgeTags.isEmpty }

    func hasEdges(_ isServed: (ModeTable.SetID) -> Bool) -> Bool {
        edgeTags.contains { entries[$0].map { $0.mustTell && isServed($0.modes) } ?? false }
    }

    private mutating func noteToTell(_ id: UInt64, _ entry: Entry) {
        if entry.edges == 0, !entry.isSignalled { edgeTags.append(id) }
    }

    /// Gives the entry of the next edge or signal.
    mutating func takeEdge(_ index: Int, _ modes: ModeTable) -> Entry? {
        edgeTags.removeAll { id in entries[id].map { $0.edges == 0 && !$0.isSignalled } ?? true }
        guard
            let place = edgeTags.firstIndex(where: { id in
                entries[id].map { $0.mustTell && modes.contains($0.modes, index) } ?? false
            }),
            let entry = entries[edgeTags.remove(at: place)]
        else { return nil }
        let id = entry.source.attachment.id
        entries[id]?.edges = 0
        settleSignal(id)
        // It reads what may have been found as well.
        if entry.source.triggering == .level { entries[id]?.mustLook = true }
        return entry
    }

    /// Any call counts for a signal.
    mutating func settleSignal(_ id: UInt64) {
        guard entries[id]?.isSignalled == true else { return }
        entries[id]?.isSignalled = false
        entries[id]?.waits = nil
    }

    /// False if it is not here.
    mutating func signal(_ id: UInt64, waits: (@Sendable () -> Bool)?) -> Bool {
        guard let entry = entries[id] else { return false }
        noteToTell(id, entry)
        // One that comes in any case stays so.
        entries[id]?.waits = entry.isSignalled && entry.waits == nil ? nil : waits
        entries[id]?.isSignalled = true
        return true
    }

    /// Somebody has read the descriptor, what waits there for others is in memory. True if there is whom to call.
    mutating func noteRead(_ descriptor: Int32, waits: (@Sendable () -> Bool)?) -> Bool {
        guard let watched = triggering[descriptor] else { return false }
        for id in watched.ids {
            if watched.way == .level { entries[id]?.mustLook = true }
            if let waits { _ = signal(id, waits: waits) }
        }
        return waits != nil
    }

    mutating func setHeld(_ id: UInt64, _ isHeld: Bool) {
        guard entries[id] != nil else { return }
        entries[id]?.isHeld = isHeld
        hasChanged = true
    }

    /// The loop's thread.
    mutating func unwatchStale(_ waiter: LoopWaiter) {
        for watch in stale { waiter.unwatch(watch) }
        stale = []
    }

    /// Frees all watches: no thread is inside the loop any more.
    mutating func removeAll(_ waiter: LoopWaiter) -> [LoopSource] {
        unwatchStale(waiter)
        for entry in entries.values { if let watch = entry.watch { waiter.unwatch(watch) } }
        defer {
            entries = [:]
            triggering = [:]
        }
        return entries.values.map { $0.source }
    }
}
#endif
