// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRLoop
import HRTimerCore

/// A source in a loop, with what the loop's thread has found.
struct WatchedSource: Sendable {
    let source: LoopSource
    /// Nil while the descriptor is not watched.
    var watch: WatchedDescriptors.Watch?
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

    init(source: LoopSource) {
        self.source = source
    }

    var hasEvents: Bool { edges != 0 || isSignalled }

    /// Any call counts for the signal.
    mutating func clearSignal() {
        isSignalled = false
        waits = nil
    }
}

/// The descriptors of one loop. Watches belong to the loop's thread; all else is guarded by the lock.
struct WatchedDescriptors: Sendable {
    // Sendable and safe: an address that only the loop's thread uses, and no more after `unwatch`.
    @safe struct Watch: @unchecked Sendable {
        let address: OpaquePointer
    }

    var sources = OrderedItems<WatchedSource>()
    /// The sources with an edge or a signal, in the order in which these came; some may be out of date.
    private var withEvents: [ItemPlace] = []
    /// The watches of sources that are gone.
    private var stale: [Watch] = []
    /// Whether something has changed since the loop's thread last updated the watches.
    private var hasChanged = false
    /// The index of the mode whose sources are watched.
    private var watched = -1
    /// How each descriptor is triggered, and by which sources it is watched: epoll knows one way for a descriptor.
    private var triggering: [Int32: (way: LoopSource.Triggering, places: [ItemPlace])] = [:]

    /// Whether the descriptor has a source that is triggered otherwise.
    func hasOtherTriggering(than source: LoopSource) -> Bool {
        triggering[source.descriptor].map { $0.way != source.triggering } ?? false
    }

    /// Notes that a source is in one more mode.
    mutating func hasJoined(_ source: LoopSource, at place: ItemPlace) {
        hasChanged = true
        let places = triggering[source.descriptor]?.places ?? []
        if !places.contains(place) { triggering[source.descriptor] = (source.triggering, places + [place]) }
    }

    /// Notes that a source is in one mode less; `gone` if that was its last one.
    mutating func hasLeft(_ gone: WatchedSource?, from place: ItemPlace) {
        hasChanged = true
        guard let gone else { return }
        if let watch = gone.watch { stale.append(watch) }
        let descriptor = gone.source.descriptor
        triggering[descriptor]?.places.removeAll { $0 == place }
        if triggering[descriptor]?.places.isEmpty == true { triggering[descriptor] = nil }
    }

    /// Whether something else may be watched than the mode needs.
    func mustUpdate(_ index: Int) -> Bool { hasChanged || watched != index }

    /// Watches what the running mode serves and nothing else. Returns the sources that the kernel refused.
    mutating func update(_ waiter: LoopWaiter, _ index: Int, _ modes: ModeTable) -> [LoopSource] {
        hasChanged = false
        watched = index
        unwatchStale(waiter)
        var refused: [LoopSource] = []
        for entry in sources.entries {
            let isServed = modes.contains(entry.modes, index) && !entry.item.isHeld
            if isServed, entry.item.watch == nil {
                let watch = waiter.watch(entry.item.source, tag: entry.place.arrival)
                if watch == nil { refused.append(entry.item.source) }
                sources.update(entry.place) { $0.watch = watch }
            } else if !isServed, let watch = entry.item.watch {
                waiter.unwatch(watch)
                // If the descriptor is still ready when it is watched again, the edge is found again.
                sources.update(entry.place) { ($0.watch, $0.edges) = (nil, 0) }
            }
        }
        return refused
    }

    /// The place of the source with the tag that `update` gave it.
    static func place(tag: UInt64) -> ItemPlace { ItemPlace(order: 0, arrival: tag) }

    /// Keeps the edges, and returns what else is ready.
    mutating func noteEdges(_ ready: [hrt_ready]) -> [hrt_ready] {
        ready.filter { ready in
            let place = Self.place(tag: ready.tag)
            guard sources[place]?.item.source.triggering == .edge else { return true }
            note(place) { $0.edges |= ready.events }
            return false
        }
    }

    /// Gives the source an edge or a signal.
    private mutating func note(_ place: ItemPlace, _ body: (inout WatchedSource) -> Void) {
        guard let entry = sources[place] else { return }
        if !entry.item.hasEvents { withEvents.append(place) }
        sources.update(place, body)
    }

    var hasEdges: Bool { !withEvents.isEmpty }

    /// Whether there is an edge or a signal to report in a mode.
    func hasEdges(in index: Int, _ modes: ModeTable) -> Bool { withEvents.contains { mustReport($0, index, modes) } }

    private func mustReport(_ place: ItemPlace, _ index: Int, _ modes: ModeTable) -> Bool {
        guard let entry = sources[place] else { return false }
        return entry.item.hasEvents && !entry.item.isHeld && modes.contains(entry.modes, index)
    }

    /// Takes the next edge or signal to report. Returns the source as it was before; nil if there is none.
    mutating func takeEdge(_ index: Int, _ modes: ModeTable) -> WatchedSource? {
        withEvents.removeAll { sources[$0]?.item.hasEvents != true }
        guard let next = withEvents.firstIndex(where: { mustReport($0, index, modes) }) else { return nil }
        let place = withEvents.remove(at: next)
        let taken = sources[place]?.item
        sources.update(place) { source in
            source.edges = 0
            source.clearSignal()
            // The handler may also read what was found ready, so that must be checked again.
            if source.source.triggering == .level { source.mustLook = true }
        }
        return taken
    }

    /// Takes the source of a ready descriptor, as it was before, if its mode is served; nil if it is not to be called.
    mutating func takeReady(_ place: ItemPlace, _ index: Int, _ modes: ModeTable) -> WatchedSource? {
        guard let entry = sources[place], modes.contains(entry.modes, index), !entry.item.isHeld else { return nil }
        if entry.item.mustLook { sources.update(place) { $0.mustLook = false } }
        return entry.item
    }

    mutating func clearSignal(_ place: ItemPlace) { sources.update(place) { $0.clearSignal() } }

    mutating func signal(_ place: ItemPlace, waits: (@Sendable () -> Bool)?) {
        note(place) { source in
            // A signal without `waits`, whose call comes in any case, stays so.
            source.waits = source.isSignalled && source.waits == nil ? nil : waits
            source.isSignalled = true
        }
    }

    /// Notes that somebody has read the descriptor, and that data for others is in memory. Returns true if `waits` is given,
    /// and the descriptor has sources to call.
    mutating func noteRead(_ descriptor: Int32, waits: (@Sendable () -> Bool)?) -> Bool {
        guard let watched = triggering[descriptor] else { return false }
        for place in watched.places {
            if watched.way == .level { sources.update(place) { $0.mustLook = true } }
            if let waits { signal(place, waits: waits) }
        }
        return waits != nil
    }

    mutating func setHeld(_ place: ItemPlace, _ isHeld: Bool) {
        sources.update(place) { $0.isHeld = isHeld }
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
        triggering = [:]
        let removed = sources.removeAll()
        for source in removed { if let watch = source.watch { waiter.unwatch(watch) } }
        return removed.map(\.source)
    }
}

/// The descriptors that one look found ready, without the edge-triggered ones.
struct ReadyDescriptors {
    /// Whether the look found anything. Read instead of the array, which would count a reference.
    var isAny = false
    var found: [hrt_ready] = []
    /// Whether libdispatch's main queue has something to run.
    var hasMainQueue = false
    /// The number of that look, see `LoopWaiter.looks`; a later look makes this one out of date.
    var look = 0
}

// The descriptors of a pass.
extension TimerLoop {
    /// Brings the watched descriptors up to date with the running mode. Sources that the kernel refuses become invalid.
    func updateWatches() {
        for source in state.withLock({ $0.updateWatches(waiter) }) { source.invalidate() }
    }

    /// Returns what the last wait or poll found, except edges, which are kept until they are reported.
    func takeReady() -> ReadyDescriptors {
        var ready = waiter.takeReady()
        if ready.isEmpty { return ReadyDescriptors() }
        let mainQueue = ready.firstIndex { $0.tag == MainQueueWatch.tag }
        if let mainQueue { ready.remove(at: mainQueue) }
        return state.withLock { state in
            let levels = state.descriptors.noteEdges(ready)
            waiter.mayHaveEdges = state.descriptors.hasEdges
            return ReadyDescriptors(
                isAny: true,
                found: levels,
                hasMainQueue: mainQueue != nil,
                look: waiter.looks
            )
        }
    }

    /// Calls the handlers of ready descriptors, and takes these out of `ready`: all of them, or only the first and the others
    /// in the next pass. Returns true if there was any.
    func serveDescriptors(_ ready: inout ReadyDescriptors, onlyFirst: Bool) -> Bool {
        let hasCalled = (waiter.mayHaveEdges || core.hasPosted(.signals)) && serveEdges(onlyFirst: onlyFirst)
        return ready.isAny ? serveFound(&ready, onlyFirst: onlyFirst, hasCalled) : hasCalled
    }

    private func serveFound(_ ready: inout ReadyDescriptors, onlyFirst: Bool, _ hasCalledEdge: Bool) -> Bool {
        var hasCalled = hasCalledEdge
        let (found, look) = (ready.found, ready.look)
        ready = ReadyDescriptors()
        for ready in found where !(hasCalled && onlyFirst) {
            let place = WatchedDescriptors.place(tag: ready.tag)
            let taken = state.withLock { $0.descriptors.takeReady(place, $0.served, $0.modes) }
            guard let taken else { continue }
            var events = LoopSource.Events(rawValue: ready.events)
            // If a nested run has looked since, or somebody has read, the descriptor may be drained: a handler that reads
            // would hang.
            if waiter.looks != look || taken.mustLook {
                events = waiter.look(at: taken.source.descriptor, for: taken.source.events)
            }
            if events.isEmpty { continue }
            if taken.isSignalled { state.withLock { $0.descriptors.clearSignal(place) } }
            if call(taken.source, events.rawValue) { hasCalled = true }
        }
        return hasCalled
    }

    private func serveEdges(onlyFirst: Bool) -> Bool {
        var hasCalled = false
        while waiter.mayHaveEdges || core.hasPosted(.signals), !(hasCalled && onlyFirst), let taken = takeEdge() {
            if taken.edges == 0, let waits = taken.waits, !waits() { continue }
            var events = taken.edges
            if taken.isSignalled { events |= taken.source.signalledEvents.rawValue }
            if call(taken.source, events) { hasCalled = true }
        }
        return hasCalled
    }

    private func takeEdge() -> WatchedSource? {
        state.withLock { state in
            core.clear(.signals)
            defer { waiter.mayHaveEdges = state.descriptors.hasEdges }
            return state.descriptors.takeEdge(state.served, state.modes)
        }
    }

    private func call(_ source: LoopSource, _ events: UInt32) -> Bool {
        guard let handler = source.attachment.handler else { return false }
        handler(source, LoopSource.Events(rawValue: events))
        return true
    }

    /// Notes that somebody who does not watch the descriptor has read it. `waits` returns whether some of the data is for those
    /// who watch it, and is called again before their handlers; nil if none is. Any thread, without a lock of a loop.
    static func hasRead(_ descriptor: Int32, waits: (@Sendable () -> Bool)?) {
        for core in LoopRegistry.watching.all where !core.isInForkedChild {
            core.update { state in
                guard !state.isEnded, state.descriptors.noteRead(descriptor, waits: waits) else { return false }
                core.post(.signals)
                return state.mustWakeNow()
            }
        }
    }
}
#endif
