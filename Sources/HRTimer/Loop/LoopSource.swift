// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRLoop
public import HRTimerCore
import HRTimerLibc

/// A descriptor that a loop watches.
///
/// Foundation has no public type for that on Linux.
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
        /// When the descriptor has become ready, or got more, since the last call: `EPOLLET` of `epoll(7)`.
        ///
        /// The handler must read or write a non-blocking descriptor until EAGAIN; there may be no further call for what it
        /// leaves.
        case edge
    }

    /// The function that a source calls, with those of the requested events that were found.
    package typealias Handler = @Sendable (LoopSource, Events) -> Void
    typealias Block = @isolated(any) @Sendable (LoopSource, Events) -> Void

    /// The descriptor that the source watches.
    public let descriptor: Int32
    /// The events for which it watches the descriptor.
    public let events: Events
    /// Whether the handler is called while the descriptor is ready, or when it becomes ready.
    package let triggering: Triggering
    let attachment: Attachment<Handler>
    /// Closes a descriptor that the source has opened itself, when the source is released.
    private let owned: OwnedDescriptor?

    /// A source that is in no loop yet.
    ///
    /// Its handler gets those of the events that were found.
    ///
    /// A handler of an actor is called on its actor: at once if the loop's thread is the actor's, as with `TimerLoop.main` and
    /// the main actor; otherwise by a task, and a level-triggered descriptor is not watched until that task has run. A closure
    /// in a global actor's code belongs to it.
    ///
    /// Throws EBADF if `descriptor` is no descriptor, EPERM if it is always ready and cannot be watched (a regular file, a
    /// directory, a device like `/dev/null`), and EINVAL if `events` has neither `.readable` nor `.writable`.
    public convenience init(
        descriptor: Int32,
        events: Events = .readable,
        triggering: Triggering = .level,
        @_inheritActorContext handler: @escaping @isolated(any) @Sendable (LoopSource, Events) -> Void
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
            source.setHeld(true)
            calls.call(on: actor, unless: { !source.isValid }) {
                plain(source, events)
                source.setHeld(false)
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

    /// Whether the source is valid.
    ///
    /// False after `invalidate()`, or if the kernel refused to let the loop watch the descriptor.
    public var isValid: Bool { attachment.handler != nil }

    /// Whether a run of its loop goes on for this source; see `LoopTimer.keepsLoopRunning`.
    ///
    /// True at first. Any thread.
    public var keepsLoopRunning: Bool {
        get { attachment.keepsLoopRunning }
        set {
            attachment.withPosition { state, position in
                state.keepsLoopRunning = newValue
                if let position { position.loop.setKeepsRunning(newValue, at: position.place) }
            }
        }
    }

    /// Takes the source out of its loop and frees the handler.
    ///
    /// On the loop's own thread no call comes after this has returned; on another thread a call that has begun goes on.
    /// Idempotent.
    public func invalidate() { end() }
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

// Data that somebody else has read from a descriptor: it is in memory, and the descriptor no longer reports it.
extension LoopSource {
    /// Wakes the loop and makes it call the handler in its next pass in a mode of the source, as if the descriptor were
    /// readable.
    ///
    /// For data that a library has already read into its own memory. Xlib reads in every call that waits for an answer, such as
    /// XSync, and in calls that write, such as XFlush: libxcb reads what there is before it writes (`_xcb_conn_wait` in its
    /// xcb_conn.c). So at the end of a frame:
    ///
    ///     XFlush(display)
    ///     if XPending(display) > 0 { input.signal() }
    ///
    /// Several signals before the call count as one, and a call for events that were found counts for them too. A signal is
    /// kept until there is such a pass; it is lost if the source is in no loop. An application's own source of its Wayland
    /// connection needs no signals if there is a `VsyncSource` of that connection: see `WaylandSurface`. Any thread; O(1).
    public func signal() {
        change { descriptors, place in descriptors.signal(place, waits: nil) }
    }

    /// The events that a signalled call reports.
    var signalledEvents: Events { events.contains(.readable) ? .readable : events }

    /// Sets whether the source is held: left unwatched until its handler has been called on its actor.
    private func setHeld(_ isHeld: Bool) {
        change { descriptors, place in descriptors.setHeld(place, isHeld) }
    }

    /// Changes what the source's loop knows about it, and wakes that loop.
    private func change(_ body: (inout WatchedDescriptors, ItemPlace) -> Void) {
        guard let (loop, place) = attachment.position else { return }
        loop.core.update { state in
            guard !state.isEnded else { return false }
            body(&state.descriptors, place)
            loop.core.post(.signals)
            return state.mustWakeNow()
        }
    }
}

extension LoopSource: LoopItem {
    var order: Int { 0 }
    var held: WatchedSource { WatchedSource(source: self) }
    static var wakesLoop: Bool { true }

    static func withItems<Result>(
        of state: inout LoopState,
        _ body: (inout OrderedItems<WatchedSource>, inout ModeTable) -> Result
    ) -> Result { body(&state.descriptors.sources, &state.modes) }

    func hasJoined(_ core: LoopCore, _ state: inout LoopState, at place: ItemPlace) {
        state.descriptors.hasJoined(self, at: place)
    }

    static func hasLeft(_ core: LoopCore, _ state: inout LoopState, _ held: WatchedSource?, from place: ItemPlace) {
        state.descriptors.hasLeft(held, from: place)
    }

    /// Removes the watches of sources that are gone. On the loop's own thread that happens at once, before the descriptor is
    /// closed: `epoll(7)` goes on watching an open file that has a duplicate, and then the watch could not be removed any
    /// more. On other threads it is left to the loop's thread, when that is awake.
    static func hasLeft(_ loop: TimerLoop) {
        loop.unlessElsewhere { loop.state.withLock { $0.descriptors.unwatchStale(loop.waiter) } }
    }
}

extension TimerLoop {
    /// Makes the loop watch the descriptor while it runs in `mode`.
    ///
    /// A source may be in several modes of one loop. Adding it twice to a mode, or adding an invalid source, does nothing. In a
    /// loop that has ended it becomes invalid. Any thread.
    ///
    /// Throws the error that kept the loop from getting descriptors of its own when it was made (EMFILE, ENFILE), and EINVAL
    /// if the loop has, in any mode, a source of the same descriptor with the other triggering: `epoll(7)` has one triggering
    /// for a descriptor. Use a duplicate of the descriptor then, `dup(2)`.
    public func add(_ source: LoopSource, forMode mode: Mode) throws(TimerError) {
        if let failure = waiter.failure { throw failure }
        let isRefused = !core.isInForkedChild && state.withLock { $0.descriptors.hasOtherTriggering(than: source) }
        if isRefused, source.isValid {
            throw TimerError(
                operation: "watch descriptor \(source.descriptor) \(source.triggering)-triggered, "
                    + "of which the loop has a source that is triggered otherwise",
                errorNumber: EINVAL
            )
        }
        // Those who read a descriptor must know the loop before its source can miss anything.
        LoopRegistry.watching.add(core)
        source.join(self, mode)
    }

    /// Takes the source out of one mode.
    public func remove(_ source: LoopSource, forMode mode: Mode) { source.leave(self, mode) }

    /// Whether the source is watched in `mode`.
    public func contains(_ source: LoopSource, forMode mode: Mode) -> Bool { source.isIn(self, mode) }

    /// Makes the source count, or not, as something that a run waits for. Called with the source's lock held.
    fileprivate func setKeepsRunning(_ keepsRunning: Bool, at place: ItemPlace) {
        if core.isInForkedChild { return }
        core.update { state in
            state.descriptors.sources.setKeepsRunning(keepsRunning, place, in: &state.modes)
            return state.mustWakeToEnd()
        }
    }
}
#endif
