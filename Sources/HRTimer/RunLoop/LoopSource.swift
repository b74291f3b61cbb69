#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc

/// A descriptor that a loop watches. Foundation has no public type for that on Linux.
///
///     let source = try LoopSource(descriptor: socket, events: .readable) { source, events in … }
///     try TimerLoop.current.add(source, forMode: .default)
///
/// Level-triggered by default: the loop's thread calls the handler in every pass in which the descriptor is ready, until the
/// handler has read or written what there is. All sources of one descriptor in one loop must be triggered alike; the loop
/// refuses others. A hang-up or an error counts as ready for all requested events. A run inside the handler calls the handler
/// again if the descriptor is still ready. The handler is freed by `invalidate()`. All members may be called from any thread.
///
/// The source borrows the descriptor: it may be closed as soon as `invalidate()` has returned, not before. A descriptor that
/// has duplicates (`dup(2)`, a child's) needs more care while another thread runs the loop, or while a host has the loop on an
/// `event_base`: close it in a block that the loop performs. `epoll(7)` goes on watching the open file until the loop's thread
/// removes it, which needs the descriptor. Compare libevent's `event_add` with `EV_PERSIST`, `epoll(7)`.
public final class LoopSource: Sendable {
    /// What a descriptor can be ready for.
    public struct Events: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Data, a connection or the end of the file can be read without blocking.
        public static let readable = Events(rawValue: UInt32(HRT_READABLE))
        /// Something can be written without blocking.
        public static let writable = Events(rawValue: UInt32(HRT_WRITABLE))
    }

    /// When a handler is called.
    public enum Triggering: Sendable {
        /// In every pass in which the descriptor is ready.
        case level
        /// When the descriptor has become ready, or got more, since the last call: `EPOLLET` of `epoll(7)`. The handler must
        /// read or write a non-blocking descriptor until EAGAIN; there may be no further call for what it leaves.
        case edge
    }

    /// The function that a source calls, with those of the requested events that were found.
    public typealias Handler = @Sendable (LoopSource, Events) -> Void
    /// A `Handler`, or a function of an actor. The latter is called on its actor: at once if the loop's thread is the actor's,
    /// as with `TimerLoop.main` and the main actor; otherwise by a task, and a level-triggered descriptor is not watched until
    /// that task has run. A closure in a global actor's code belongs to it.
    public typealias Block = @isolated(any) @Sendable (LoopSource, Events) -> Void

    /// The descriptor that the source watches.
    public let descriptor: Int32
    /// The events for which it watches the descriptor.
    public let events: Events
    /// Whether the handler is called while the descriptor is ready, or when it becomes ready.
    public let triggering: Triggering
    let attachment: Attachment<Handler>
    /// Closes a descriptor that the source has opened itself, when the source is released.
    private let owned: OwnedDescriptor?

    /// A source that is in no loop yet.
    ///
    /// Throws EBADF if `descriptor` is no descriptor, EPERM if it is always ready and cannot be watched (a regular file, a
    /// directory, a device like `/dev/null`), and EINVAL if `events` has neither `.readable` nor `.writable`.
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

    /// Returns the block as a handler that calls it on its actor, if it has one.
    private static func handler(_ block: @escaping Block, _ triggering: Triggering) -> Handler {
        if triggering == .edge { return onItsActor(unless: { !$0.isValid }, block) }
        let plain = withoutActor(block)
        guard let actor = block.isolation else { return plain }
        let calls = ActorCalls(merges: true)
        return { source, events in
            if ActorCalls.isHere(actor) { return plain(source, events) }
            // Otherwise every pass would find the descriptor ready until the actor has read what there is.
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

    /// Whether the source is valid. False after `invalidate()`, or if the kernel refused to let the loop watch the descriptor.
    public var isValid: Bool { attachment.handler != nil }

    /// Whether a run of its loop goes on for this source; see `LoopTimer.keepsLoopRunning`. True at first. Any thread.
    public var keepsLoopRunning: Bool {
        get { attachment.keepsLoopRunning }
        set { attachment.setKeepsLoopRunning(newValue) { $0.setKeepsRunning(self, newValue) } }
    }

    /// Takes the source out of its loop and frees the handler. On the loop's own thread no call comes after this has returned;
    /// on another thread a call that has begun goes on. Idempotent.
    public func invalidate() {
        attachment.end { $0.forget(self) }
    }
}

/// A descriptor that is closed with the last reference to this object.
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

/// The descriptors of one loop. Watches belong to the loop's thread; entries are guarded by the lock.
struct WatchedDescriptors: Sendable {
    struct Entry: Sendable {
        let source: LoopSource
        var modes: ModeTable.SetID
        var watch: Watch?
        /// Whether the source is a member of its modes, and so keeps runs going.
        var keepsLoopRunning = true
        /// The events that were found and not yet reported to an edge-triggered source: an edge is not found again.
        var edges: UInt32 = 0
        /// Whether the source was signalled: its handler is to be called even if nothing is found.
        var isSignalled = false
        /// Asked before the call for a signal, which comes only if this returns true; nil if the call comes in any case.
        var waits: (@Sendable () -> Bool)?
        /// Whether somebody may have read what was found, so that the loop must check the descriptor before the call.
        var mustLook = false
        /// Whether the source is left unwatched because its handler waits for its actor.
        var isHeld = false

        var mustTell: Bool { (edges != 0 || isSignalled) && !isHeld }
    }

    // Sendable: an address that only the loop's thread uses.
    struct Watch: @unchecked Sendable {
        let address: OpaquePointer
    }

    var entries: [UInt64: Entry] = [:]
    /// The sources with an edge or a signal, in the order in which these came; some may be out of date.
    private var edgeTags: [UInt64] = []
    /// The watches of sources that are gone.
    var stale: [Watch] = []
    /// Whether something has changed since the loop's thread last updated the watches.
    var hasChanged = false
    /// The index of the mode whose sources are watched.
    private var watched = -1
    /// How each descriptor is triggered, and by which sources it is watched: epoll knows one way for a descriptor.
    private var triggering: [Int32: (way: LoopSource.Triggering, ids: [UInt64])] = [:]
    /// Whether the loop is in `SourceReaders`, known to those who read a descriptor before its sources can.
    var isRegistered = false

    /// Whether the descriptor has a source that is triggered otherwise.
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

    /// Whether something else may be watched than the mode needs. Does not ask whether there are any sources: all empty
    /// dictionaries share an object in Swift's runtime, whose page each fire would touch for that alone.
    func mustUpdate(_ index: Int) -> Bool { hasChanged || watched != index }

    /// Watches what the running mode serves and nothing else. Returns the sources that the kernel refused.
    mutating func update(_ waiter: LoopWaiter, _ index: Int, _ modes: ModeTable) -> [LoopSource] {
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
                // If the descriptor is still ready when it is watched again, the edge is found again.
                entries[id]?.edges = 0
            }
        }
        return refused
    }

    /// Keeps the edges, and returns what else is ready.
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

    /// Takes the next edge or signal to report. Returns the entry as it was before; nil if there is none.
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
        clearSignal(id)
        // The handler may also read what was found ready, so that must be checked again.
        if entry.source.triggering == .level { entries[id]?.mustLook = true }
        return entry
    }

    /// Clears the signal of a source, for which any call counts.
    mutating func clearSignal(_ id: UInt64) {
        guard entries[id]?.isSignalled == true else { return }
        entries[id]?.isSignalled = false
        entries[id]?.waits = nil
    }

    /// Marks the source as signalled. Returns false if the source is not here.
    mutating func signal(_ id: UInt64, waits: (@Sendable () -> Bool)?) -> Bool {
        guard let entry = entries[id] else { return false }
        noteToTell(id, entry)
        // A signal without `waits`, whose call comes in any case, stays so.
        entries[id]?.waits = entry.isSignalled && entry.waits == nil ? nil : waits
        entries[id]?.isSignalled = true
        return true
    }

    /// Notes that somebody has read the descriptor, and that data for others is in memory. Returns true if `waits` is given,
    /// and the descriptor has sources to call.
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

    /// Ends the watches of sources that are gone. The loop's thread.
    mutating func unwatchStale(_ waiter: LoopWaiter) {
        for watch in stale { waiter.unwatch(watch) }
        stale = []
    }

    /// Ends all watches and returns the sources. Must be called when no thread is inside the loop any more.
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
