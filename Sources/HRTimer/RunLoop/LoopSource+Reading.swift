#if os(Linux)
import HRTimerCore

/// What somebody else has read of a descriptor: it is in memory, and the descriptor says nothing of it any more.
extension LoopSource {
    /// Has the handler called in the loop's next pass in a mode of the source, as if the descriptor were readable, and wakes the
    /// loop: for what a library has read into its own memory. Xlib does so in every call that waits for an answer, as XSync, and
    /// in such that write, as XFlush: libxcb reads what there is before it writes (`_xcb_conn_wait` in its xcb_conn.c). So at
    /// the end of a frame:
    ///
    ///     XFlush(display)
    ///     if XPending(display) > 0 { input.signal() }
    ///
    /// Signals count as one until the call, and a call for what was found counts for them. Kept until there is such a pass; lost
    /// if the source is in no loop. An application's own source of its Wayland connection needs none of this beside a
    /// `VsyncSource` of that: see `WaylandSurface`. Any thread; O(1).
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

    /// Whether the source is left unwatched, until its handler has been called on its actor.
    func setHeld(_ source: LoopSource, _ isHeld: Bool) {
        let mustWake = state.withLock { state in
            guard !state.isEnded else { return false }
            state.descriptors.setHeld(source.attachment.id, isHeld)
            if !isHeld { core.post(.signals) }
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }

    /// The descriptor was read by somebody who does not watch it. `waits` returns whether some of that is for those who
    /// do, and is called again before their call; nil if there is nothing. Any thread, without locks of loops.
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

/// The loops of the process that have watched a descriptor: what one thread reads may be for another one's source.
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
