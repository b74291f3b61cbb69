#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc

extension TimerLoop {
    /// Makes the loop watch the descriptor while it runs in `mode`. A source may be in several modes of one loop. Adding it
    /// twice to a mode, or adding an invalid source, does nothing. In a loop that has ended it becomes invalid. Any thread.
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
        var isFirst = false
        let isAdded = source.attachment.attach(to: self) { keepsRunning in
            state.withLock { state in
                guard !state.isEnded else { return false }
                isFirst = !state.descriptors.isRegistered
                state.descriptors.isRegistered = true
                let index = state.modes.index(of: mode)
                var entry =
                    state.descriptors.entries[source.attachment.id]
                    ?? WatchedDescriptors.Entry(
                        source: source,
                        modes: ModeTable.nowhere,
                        watch: nil,
                        keepsLoopRunning: keepsRunning
                    )
                let former = entry.modes
                entry.modes = state.modes.adding(index, to: former)
                if entry.keepsLoopRunning { state.modes.moveMember(from: former, to: entry.modes) }
                state.descriptors.insert(entry)
                return true
            }
        }
        if isFirst { SourceReaders.register(core) }
        if isAdded { wakeIfWaiting() }
    }

    /// Takes the source out of one mode.
    public func remove(_ source: LoopSource, forMode mode: Mode) {
        source.attachment.detach(from: self) {
            state.withLock { state in
                guard let index = state.modes.known(mode),
                    var entry = state.descriptors.entries[source.attachment.id]
                else { return false }
                let former = entry.modes
                entry.modes = state.modes.removing(index, from: former)
                if entry.keepsLoopRunning { state.modes.moveMember(from: former, to: entry.modes) }
                state.descriptors.insert(entry)
                let isOut = state.modes.isEmpty(entry.modes)
                if isOut { _ = state.descriptors.remove(id: source.attachment.id) }
                return isOut
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
            return state.modes.contains(entry.modes, index)
        }
    }

    func forget(_ source: LoopSource) {
        let mustWake = state.withLock { state in
            if let entry = state.descriptors.remove(id: source.attachment.id), entry.keepsLoopRunning {
                state.modes.moveMember(from: entry.modes, to: ModeTable.nowhere)
            }
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
        unwatchStale()
    }

    /// Makes the source count, or not, as something that a run waits for. Called with the source's lock held.
    func setKeepsRunning(_ source: LoopSource, _ keepsRunning: Bool) {
        if core.isInForkedChild { return }
        let mustWake = state.withLock { state in
            let id = source.attachment.id
            guard let entry = state.descriptors.entries[id], entry.keepsLoopRunning != keepsRunning else {
                return false
            }
            let (from, to) = keepsRunning ? (ModeTable.nowhere, entry.modes) : (entry.modes, ModeTable.nowhere)
            state.modes.moveMember(from: from, to: to)
            state.descriptors.entries[id]?.keepsLoopRunning = keepsRunning
            return state.mustWakeToEnd()
        }
        if mustWake { waiter.wake() }
    }

    /// Removes the watches of sources that are gone. On the loop's own thread that happens at once, before the descriptor is
    /// closed: `epoll(7)` goes on watching an open file that has a duplicate, and then the watch could not be removed any
    /// more. On other threads it is left to the loop's thread, when that is awake.
    private func unwatchStale() {
        unlessElsewhere { state.withLock { $0.descriptors.unwatchStale(waiter) } }
    }

    func wakeIfWaiting() {
        if state.withLock({ $0.mustWakeNow() }) { waiter.wake() }
    }

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
            let entry = state.withLock { state -> WatchedDescriptors.Entry? in
                guard let entry = state.descriptors.entries[ready.tag], state.serves(entry.modes), !entry.isHeld else {
                    return nil
                }
                if entry.mustLook { state.descriptors.entries[ready.tag]?.mustLook = false }
                return entry
            }
            guard let entry else { continue }
            let source = entry.source
            var events = LoopSource.Events(rawValue: ready.events)
            // If a nested run has looked since, or somebody has read, the descriptor may be drained: a handler that reads
            // would hang.
            if waiter.looks != look || entry.mustLook {
                events = waiter.look(at: source.descriptor, for: source.events)
            }
            if events.isEmpty { continue }
            if entry.isSignalled { state.withLock { $0.descriptors.clearSignal(ready.tag) } }
            if call(source, events.rawValue) { hasCalled = true }
        }
        return hasCalled
    }

    private func serveEdges(onlyFirst: Bool) -> Bool {
        var hasCalled = false
        while waiter.mayHaveEdges || core.hasPosted(.signals), !(hasCalled && onlyFirst), let entry = takeEdge() {
            if entry.edges == 0, let waits = entry.waits, !waits() { continue }
            var events = entry.edges
            if entry.isSignalled { events |= entry.source.signalledEvents.rawValue }
            if call(entry.source, events) { hasCalled = true }
        }
        return hasCalled
    }

    private func takeEdge() -> WatchedDescriptors.Entry? {
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
#endif
