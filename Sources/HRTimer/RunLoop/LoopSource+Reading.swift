#if os(Linux)
import HRTimerCore

/// Data that somebody else has read from a descriptor: it is in memory, and the descriptor no longer reports it.
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
        attachment.loop?.signal(self)
    }

    /// The events that a signalled call reports.
    var signalledEvents: Events { events.contains(.readable) ? .readable : events }
}

extension TimerLoop {
    fileprivate func signal(_ source: LoopSource) {
        let mustWake = state.withLock { state in
            guard !state.isEnded, state.descriptors.signal(source.attachment.id, waits: nil) else { return false }
            core.post(.signals)
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }

    /// Sets whether the source is held: left unwatched until its handler has been called on its actor.
    func setHeld(_ source: LoopSource, _ isHeld: Bool) {
        let mustWake = state.withLock { state in
            guard !state.isEnded else { return false }
            state.descriptors.setHeld(source.attachment.id, isHeld)
            if !isHeld { core.post(.signals) }
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }

    /// Notes that somebody who does not watch the descriptor has read it. `waits` returns whether some of the data is for those
    /// who watch it, and is called again before their handlers; nil if none is. Any thread, without a lock of a loop.
    static func hasRead(_ descriptor: Int32, waits: (@Sendable () -> Bool)?) {
        for core in SourceReaders.all where !core.isInForkedChild {
            let mustWake = core.state.withLock { state in
                guard !state.isEnded, state.descriptors.noteRead(descriptor, waits: waits) else { return false }
                core.post(.signals)
                return state.mustWakeNow()
            }
            if mustWake { core.waiter.wake() }
        }
    }
}

/// The loops of the process that have watched a descriptor: one thread may read what is meant for another thread's source.
enum SourceReaders {
    private struct Reference: Sendable {
        weak var core: LoopCore?
    }

    private static let loops = Locked<[Reference]>([])

    static func register(_ core: LoopCore) {
        let reference = Reference(core: core)
        loops.withLock { loops in
            loops.removeAll { $0.core == nil }
            loops.append(reference)
        }
    }

    static var all: [LoopCore] { loops.withLock { $0.compactMap(\.core) } }
}
#endif
