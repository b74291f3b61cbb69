// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore
import Synchronization

/// A source that the program itself triggers: a version-0 `CFRunLoopSource`.
///
///     let trigger = LoopTrigger { trigger in drainMailbox() }
///     loop.add(trigger, forMode: .default)
///     trigger.signal()   // from any thread
///
/// The handler runs on the loop's thread, once for any number of signals since its last call. Triggers of a lower `order` come
/// first. A trigger in a mode keeps the loop running there. The handler is freed by `invalidate()`. Any thread may call any
/// member.
public final class LoopTrigger: Sendable {
    /// The function that a trigger calls.
    package typealias Handler = @Sendable (LoopTrigger) -> Void
    typealias Block = @isolated(any) @Sendable (LoopTrigger) -> Void

    /// The trigger's place among the triggers of its loop: lower orders come first.
    package let order: Int
    let attachment: Attachment<Handler>
    private let signalled = Atomic(false)

    /// A trigger that is in no loop yet.
    ///
    /// A handler of an actor is called on its actor: at once if the loop's thread is the actor's, otherwise by a task; signals
    /// that come meanwhile count as one. A closure in a global actor's code belongs to it.
    public init(order: Int = 0, @_inheritActorContext handler: @escaping @isolated(any) @Sendable (LoopTrigger) -> Void)
    {
        self.order = order
        attachment = Attachment(Self.handler(handler))
    }

    /// Returns the block as a handler that calls it on its actor, if it has one.
    private static func handler(_ block: @escaping Block) -> Handler {
        let plain = withoutActor(block)
        guard let actor = block.isolation else { return plain }
        let calls = ActorCalls(merges: true)
        return { trigger in calls.call(on: actor, unless: { !trigger.isValid }) { plain(trigger) } }
    }

    /// Makes the loop call the handler in its next pass in a mode of the trigger.
    ///
    /// Wakes the loop, which `CFRunLoopSourceSignal` does not. A signal is kept until there is such a pass.
    public func signal() {
        signalled.store(true, ordering: .sequentiallyConsistent)
        attachment.position?.loop.wakeIfWaiting()
    }

    /// Whether the trigger was signalled, and not called since.
    package var isSignalled: Bool { signalled.load(ordering: .sequentiallyConsistent) }

    /// Whether the trigger is valid; false after `invalidate()`.
    public var isValid: Bool { attachment.handler != nil }

    /// Takes the trigger out of its loop and frees the handler.
    ///
    /// Idempotent.
    public func invalidate() { end() }

    /// Calls the handler if there was a signal. Returns true if it was called.
    fileprivate func callIfSignalled() -> Bool {
        guard let handler = attachment.handler, signalled.exchange(false, ordering: .sequentiallyConsistent) else {
            return false
        }
        handler(self)
        return true
    }
}

extension LoopTrigger: LoopItem {
    var held: LoopTrigger { self }
    static var wakesLoop: Bool { true }

    static func withItems<Result>(
        of state: inout LoopState,
        _ body: (inout OrderedItems<LoopTrigger>, inout ModeTable) -> Result
    ) -> Result { body(&state.triggers, &state.modes) }

    func hasJoined(_ core: LoopCore, _ state: inout LoopState, at place: ItemPlace) { core.post(.triggers) }

    static func hasLeft(_ core: LoopCore, _ state: inout LoopState, _ held: LoopTrigger?, from place: ItemPlace) {
        if state.triggers.entries.isEmpty { core.clear(.triggers) }
    }
}

extension TimerLoop {
    /// Makes the loop serve the trigger in `mode`.
    ///
    /// A trigger may be in several modes of one loop. Adding it twice to a mode does nothing, nor does adding an invalid one. A
    /// loop that has ended makes the trigger invalid.
    public func add(_ trigger: LoopTrigger, forMode mode: Mode) { trigger.join(self, mode) }

    /// Takes the trigger out of one mode.
    public func remove(_ trigger: LoopTrigger, forMode mode: Mode) { trigger.leave(self, mode) }

    /// Whether the trigger is served in `mode`.
    public func contains(_ trigger: LoopTrigger, forMode mode: Mode) -> Bool { trigger.isIn(self, mode) }

    /// Calls the triggers that were signalled: all, or only the first. Returns true if there was any.
    func callTriggers(onlyFirst: Bool) -> Bool {
        core.hasPosted(.triggers) && callSignalled(onlyFirst: onlyFirst)
    }

    private func callSignalled(onlyFirst: Bool) -> Bool {
        var hasCalled = false
        forEachServed(LoopTrigger.self, where: \.isSignalled) { trigger in
            if trigger.callIfSignalled() { hasCalled = true }
            return !(hasCalled && onlyFirst)
        }
        return hasCalled
    }
}
#endif
