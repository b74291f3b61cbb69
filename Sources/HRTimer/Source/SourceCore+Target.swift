// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
package import Dispatch
import HRTimerCore

// Where a source's handlers run, and how its calls get there.
extension SourceCore {
    /// Where the handlers run, if not on the engine's thread: a queue or a loop. This value holds everything that differs
    /// between kinds of places: a new kind of place is one file, which makes such a value.
    package struct Target: Sendable {
        /// Nil if the target is not a queue.
        package var queue: DispatchQueue?
        /// Whether threads of the target's own run what is submitted. Virtual time then waits for them, and a precise engine
        /// submits early by a learned lead. False for a loop, which somebody has to run.
        package let hasThreads: Bool
        /// Returns a function that submits the block, which the target runs, at each call.
        package let submission: @Sendable (_ block: @escaping @Sendable () -> Void) -> @Sendable () -> Void

        package init(
            queue: DispatchQueue? = nil,
            hasThreads: Bool = false,
            submission: @escaping @Sendable (@escaping @Sendable () -> Void) -> @Sendable () -> Void
        ) {
            self.queue = queue
            self.hasThreads = hasThreads || queue != nil
            self.submission = submission
        }

        /// A target that prepares nothing: `submit` submits each block.
        package init(
            queue: DispatchQueue? = nil,
            hasThreads: Bool = false,
            _ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
        ) {
            self.init(queue: queue, hasThreads: hasThreads, submission: { block in { submit(block) } })
        }

        var name: String { queue.map { "the queue \($0.label)" } ?? "threads of its own" }
    }

    func set(_ target: Target?, _ state: inout State) {
        if target == nil, unsafe state.extras == nil { return }
        @safe let extras = state.makeExtras()
        extras.pointee.owned.target = target
        unsafe setDelivery(&state, extras)
    }

    /// Sets how a call gets to the queue, actor or thread of the event handler.
    func setDelivery(_ state: inout State, _ extras: UnsafeMutablePointer<SourceExtras>) {
        unsafe extras.pointee.owned.submit = submission(of: extras.pointee.owned.target, on: extras.pointee.owned.actor)
        unsafe extras.pointee.lead = lead(state)
    }

    /// Nil unless a precise source is called on the target's own threads: a spin must not keep an actor busy.
    func lead(_ state: borrowing State) -> SourceLead? {
        let isPrecise = core.precision == .precise || state.precision == .precise
        guard let target = state.target, target.hasThreads, state.actor == nil else { return nil }
        guard isPrecise, core.time.hasLeads else { return nil }
        return SourceLead(budget: core.spinBudget)
    }

    /// Returns a function that has `deliver` called on the target, and from there on the actor; nil for the engine's thread.
    /// `deliver` counts the ticks that the call reports, so they are counted where the handler runs.
    private func submission(of target: Target?, on actor: (any Actor)?) -> Callback? {
        guard let actor else { return target.map { Callback(submission({ [self] in deliver(on: nil) }, to: $0)) } }
        let calls = ActorCalls(merges: false)
        // By a task, even if the submitting thread is the actor's: that is inside a verb of the user's, or the previous call.
        guard let target else { return Callback { [self] in calls.submit(to: actor) { [self] in deliver(on: actor) } } }
        return Callback(
            submission({ [self] in calls.call(on: actor, isNamed: true) { [self] in deliver(on: actor) } }, to: target)
        )
    }

    /// Returns a function that submits `block` to the target. A virtual time waits for a target with threads of its own.
    func submission(_ block: @escaping @Sendable () -> Void, to target: Target) -> @Sendable () -> Void {
        guard target.hasThreads else { return target.submission(block) }
        return core.time.submission(
            of: block,
            named: "a call of a source on \(target.name)",
            by: target.submission
        )
    }

    /// Sets the target from the next call on; nil for the engine's thread.
    package func setTarget(_ target: Target?) {
        changeTarget { _ in target }
    }

    package func changeTarget(_ change: (Target?) -> Target?) {
        let old = withLock { state in
            let old = (state.target, state.submit)
            if !state.life.isOver { set(change(old.0), &state) }
            return old
        }
        withExtendedLifetime(old) {}
    }
}
#endif
