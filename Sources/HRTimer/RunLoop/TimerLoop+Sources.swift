import CHRTimer
public import HRTimerCore

extension TimerLoop {
    /// Has the loop watch the descriptor when it runs in `mode`. One loop, several modes; adding it twice to a mode, or an
    /// invalid one, does nothing. Any thread.
    ///
    /// Throws what kept the loop from getting descriptors of its own when it was made (EMFILE, ENFILE).
    public func add(_ source: LoopSource, forMode mode: Mode) throws(TimerError) {
        if let failure = waiter.failure { throw failure }
        let isAdded = source.attachment.attach(to: self) {
            state.withLock { state in
                guard !state.isEnded else { return false }
                let index = state.modes.index(of: mode)
                var entry =
                    state.descriptors.entries[source.attachment.id]
                    ?? WatchedDescriptors.Entry(source: source, modes: ModeSet(), watch: nil)
                if !entry.modes.contains(index) { state.modes.addMember(to: index) }
                entry.modes.insert(index)
                state.descriptors.entries[source.attachment.id] = entry
                state.descriptors.hasChanged = true
                return true
            }
        }
        if isAdded { wakeIfWaiting() }
    }

    /// Takes the source out of one mode.
    public func remove(_ source: LoopSource, forMode mode: Mode) {
        source.attachment.detach(from: self) {
            state.withLock { state in
                guard let index = state.modes.known(mode),
                    var entry = state.descriptors.entries[source.attachment.id],
                    entry.modes.contains(index)
                else { return false }
                entry.modes.remove(index)
                state.modes.removeMember(from: index)
                state.descriptors.entries[source.attachment.id] = entry
                state.descriptors.hasChanged = true
                if entry.modes.isEmpty { _ = state.descriptors.remove(id: source.attachment.id) }
                return entry.modes.isEmpty
            }
        }
        unwatchStale()
        wakeIfWaiting()
    }

    /// Whether the source is watched in `mode`.
    public func contains(_ source: LoopSource, forMode mode: Mode) -> Bool {
        state.withLock { state in
            guard let index = state.modes.known(mode),
                let entry = state.descriptors.entries[source.attachment.id]
            else { return false }
            return entry.modes.intersects(state.modes.served(in: index))
        }
    }

    func forget(_ source: LoopSource) {
        let mustWake = state.withLock { state in
            if let entry = state.descriptors.remove(id: source.attachment.id) {
                state.modes.removeMember(from: entry.modes)
            }
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
        unwatchStale()
    }

    /// On the loop's own thread at once, before the descriptor is closed: `epoll(7)` goes on watching an open file of which
    /// there is a duplicate, and could not be told to stop any more. Elsewhere the loop's thread does it when it is awake.
    private func unwatchStale() {
        unlessElsewhere { state.withLock { $0.descriptors.unwatchStale(waiter) } }
    }

    func wakeIfWaiting() {
        if state.withLock({ $0.mustWakeNow() }) { waiter.wake() }
    }

    /// Brings what libevent watches up to date. Sources that the kernel refuses become invalid.
    func updateWatches() {
        let refused = state.withLock { $0.descriptors.update(waiter, servedBy: $0.served) }
        for source in refused { source.invalidate() }
    }

    /// What the last wait or poll found, apart from edges, which are kept until they are told.
    func takeReady() -> [hrt_ready] {
        let ready = waiter.takeReady()
        if ready.isEmpty { return [] }
        return state.withLock { state in
            let levels = state.descriptors.noteEdges(ready)
            waiter.mayHaveEdges = state.descriptors.hasEdges
            return levels
        }
    }

    /// Calls the handlers of ready descriptors: of all, or of the first alone; the others come in the next pass. True if
    /// there was any.
    func serveDescriptors(_ ready: [hrt_ready], onlyFirst: Bool) -> Bool {
        var hasCalled = serveEdges(onlyFirst: onlyFirst)
        for ready in ready where !(hasCalled && onlyFirst) {
            let source = state.withLock { state -> LoopSource? in
                guard let entry = state.descriptors.entries[ready.tag], entry.modes.intersects(state.served) else {
                    return nil
                }
                return entry.source
            }
            if let source, call(source, ready.events) { hasCalled = true }
        }
        return hasCalled
    }

    private func serveEdges(onlyFirst: Bool) -> Bool {
        var hasCalled = false
        while waiter.mayHaveEdges, !(hasCalled && onlyFirst), let edge = takeEdge() {
            if call(edge.source, edge.events) { hasCalled = true }
        }
        return hasCalled
    }

    private func takeEdge() -> (source: LoopSource, events: UInt32)? {
        state.withLock { state in
            defer { waiter.mayHaveEdges = state.descriptors.hasEdges }
            return state.descriptors.takeEdge(servedBy: state.served)
        }
    }

    private func call(_ source: LoopSource, _ events: UInt32) -> Bool {
        guard let handler = source.attachment.handler else { return false }
        handler(source, LoopSource.Events(rawValue: events))
        return true
    }
}
