#if os(Linux)
import HRTimerCore
import Synchronization

/// A source that the program itself sets off: a version-0 `CFRunLoopSource`.
///
///     let trigger = LoopTrigger { trigger in drainMailbox() }
///     loop.add(trigger, forMode: .default)
///     trigger.signal()   // from any thread
///
/// The handler runs once on the loop's thread for any number of signals since its last call; triggers of a lower `order`
/// first. A trigger in a mode keeps the loop running there. The handler is freed by `invalidate()`. Any thread.
public final class LoopTrigger: Sendable {
    /// What a trigger calls.
    public typealias Handler = @Sendable (LoopTrigger) -> Void
    /// The same, or a function of an actor, which is called on that: at once where the loop's thread is the actor's, elsewhere by
    /// a task, signals that come meanwhile counting as one. A closure in code of a global actor belongs to that.
    public typealias Block = @isolated(any) @Sendable (LoopTrigger) -> Void

    /// Its place among the triggers.
    public let order: Int
    let attachment: Attachment<Handler>
    private let signalled = Atomic(false)

    /// A trigger that is in no loop yet.
    public init(order: Int = 0, @_inheritActorContext handler: @escaping Block) {
        self.order = order
        attachment = Attachment(Self.handler(handler))
    }

    /// The block, called on its actor, if it has one.
    private static func handler(_ block: @escaping Block) -> Handler {
        let plain = withoutActor(block)
        guard let actor = block.isolation else { return plain }
        let calls = ActorCalls(merges: true)
        return { trigger in calls.call(on: actor, unless: { !trigger.isValid }) { plain(trigger) } }
    }

    /// Has the handler called in the loop's next pass in a mode of the trigger, and wakes the loop, which
    /// `CFRunLoopSourceSignal` does not. Kept until there is such a pass.
    public func signal() {
        signalled.store(true, ordering: .sequentiallyConsistent)
        attachment.loop?.wakeIfWaiting()
    }

    /// Signalled, and not called since.
    public var isSignalled: Bool { signalled.load(ordering: .sequentiallyConsistent) }

    /// False once invalidated.
    public var isValid: Bool { attachment.handler != nil }

    /// Takes it out of its loop and frees the handler. Idempotent.
    public func invalidate() {
        attachment.end { $0.forget(self) }
    }

    /// True if there was a signal.
    func callIfSignalled() -> Bool {
        guard let handler = attachment.handler, signalled.exchange(false, ordering: .sequentiallyConsistent) else {
            return false
        }
        handler(self)
        return true
    }
}

extension TimerLoop {
    /// Has the loop serve the trigger in `mode`. One loop, several modes; adding it twice to a mode, or an invalid one, does
    /// nothing. In a loop that has ended it becomes invalid.
    public func add(_ trigger: LoopTrigger, forMode mode: Mode) {
        let isAdded = trigger.attachment.attach(to: self) { _ in
            state.withLock { state in
                guard !state.isEnded else { return false }
                let index = state.modes.index(of: mode)
                let id = trigger.attachment.id
                let change = state.triggers.add(trigger, id: id, order: trigger.order, mode: index, &state.modes)
                state.modes.moveMember(from: change.from, to: change.to)
                core.post(.triggers)
                return true
            }
        }
        if isAdded { wakeIfWaiting() }
    }

    /// Takes the trigger out of one mode.
    public func remove(_ trigger: LoopTrigger, forMode mode: Mode) {
        trigger.attachment.detach(from: self) {
            state.withLock { state in
                guard let index = state.modes.known(mode),
                    let change = state.triggers.remove(id: trigger.attachment.id, mode: index, &state.modes)
                else { return false }
                state.modes.moveMember(from: change.from, to: change.to)
                return state.modes.isEmpty(change.to)
            }
        }
        wakeIfWaiting()
    }

    /// Whether the trigger is served in `mode`.
    public func contains(_ trigger: LoopTrigger, forMode mode: Mode) -> Bool {
        state.withLock { state in
            state.modes.known(mode).map { index in
                state.triggers.contains(id: trigger.attachment.id) { state.modes.contains($0, index) }
            } ?? false
        }
    }

    func forget(_ trigger: LoopTrigger) {
        let mustWake = state.withLock { state in
            state.modes.moveMember(from: state.triggers.remove(id: trigger.attachment.id), to: ModeTable.nowhere)
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }

    /// Calls what was signalled: all, or the first alone. True if there was any.
    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    func callTriggers(onlyFirst: Bool) -> Bool {
        core.hasPosted(.triggers) && callSignalled(onlyFirst: onlyFirst)
    }

    @inline(never)
    private func callSignalled(onlyFirst: Bool) -> Bool {
        let triggers = state.withLock { state in
            if state.triggers.entries.isEmpty { core.clear(.triggers) }
            return state.triggers.items { state.serves($0) }
        }
        var hasCalled = false
        for trigger in triggers where trigger.isSignalled && !(hasCalled && onlyFirst) {
            // An earlier one may have taken it out.
            let isServed = state.withLock { state in
                state.triggers.contains(id: trigger.attachment.id) { state.serves($0) }
            }
            if isServed, trigger.callIfSignalled() { hasCalled = true }
        }
        return hasCalled
    }
}
#endif
