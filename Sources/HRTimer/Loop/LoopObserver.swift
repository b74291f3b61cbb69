// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore
import Synchronization

/// An observer of what a loop is doing: `CFRunLoopObserver`.
///
///     let observer = LoopObserver(activities: .beforeWaiting) { observer, activity in redraw() }
///     TimerLoop.current.add(observer, forMode: .common)
///
/// Observers are called on the loop's thread, those of a lower `order` first, equal ones in order of arrival. An observer is
/// not called from within its own call. It does not keep a loop running. The handler is freed by `invalidate()`, and after the
/// call of an observer that does not repeat. All members may be called from any thread.
public final class LoopObserver: Sendable {
    /// Points in a pass of a loop.
    public struct Activity: OptionSet, Hashable, Sendable {
        /// The bits, with the values of `CFRunLoopActivity`.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// A run begins, perhaps a nested one.
        public static let entry = Activity(rawValue: 1)
        /// A pass begins.
        public static let beforeTimers = Activity(rawValue: 2)
        /// Blocks and triggers come next.
        public static let beforeSources = Activity(rawValue: 4)
        /// The loop is about to sleep.
        public static let beforeWaiting = Activity(rawValue: 32)
        /// The loop woke, and has done nothing yet.
        public static let afterWaiting = Activity(rawValue: 64)
        /// A run ends.
        public static let exit = Activity(rawValue: 128)
        /// All activities.
        public static let all: Activity = [.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit]
    }

    /// The function that an observer calls.
    package typealias Handler = @Sendable (LoopObserver, Activity) -> Void
    typealias Block = @isolated(any) @Sendable (LoopObserver, Activity) -> Void

    /// The activities that the observer is notified of.
    public let activities: Activity
    /// The observer's place among the observers of its loop: lower orders are called first.
    package let order: Int
    /// Whether the observer goes on after its first call.
    package let repeats: Bool
    let attachment: Attachment<Handler>
    private let isCalled = Atomic(false)

    /// An observer that is in no loop yet.
    ///
    /// A handler of an actor is called on its actor: at once if the loop's thread is the actor's, otherwise by a task for each
    /// activity, after the loop has gone on. A closure in a global actor's code belongs to it.
    public init(
        activities: Activity = .all,
        repeats: Bool = true,
        order: Int = 0,
        @_inheritActorContext handler: @escaping @isolated(any) @Sendable (LoopObserver, Activity) -> Void
    ) {
        self.activities = activities
        self.repeats = repeats
        self.order = order
        // An observer that does not repeat is already invalid when a call by a task comes, so that must not prevent the call.
        attachment = Attachment(onItsActor(unless: { repeats && !$0.isValid }, handler))
    }

    /// Whether the observer is valid.
    ///
    /// False after `invalidate()`, and after the call of an observer that does not repeat.
    public var isValid: Bool { attachment.handler != nil }

    /// Takes the observer out of its loop and frees the handler.
    ///
    /// Idempotent.
    public func invalidate() { end() }

    fileprivate func call(_ activity: Activity) {
        guard let handler = attachment.handler else { return }
        // One thread runs the loop, so nobody else sets the flag meanwhile.
        if isCalled.exchange(true, ordering: .acquiringAndReleasing) { return }
        defer { isCalled.store(false, ordering: .releasing) }
        handler(self, activity)
        if !repeats { invalidate() }
    }
}

extension LoopObserver: LoopItem {
    var held: LoopObserver { self }
    static var wakesLoop: Bool { false }

    static func withItems<Result>(
        of state: inout LoopState,
        _ body: (inout OrderedItems<LoopObserver>, inout ModeTable) -> Result
    ) -> Result { body(&state.observers, &state.modes) }

    func hasJoined(_ core: LoopCore, _ state: inout LoopState, at place: ItemPlace) {
        core.observed.bitwiseOr(activities.rawValue, ordering: .relaxed)
    }
}

extension TimerLoop {
    /// Makes the loop notify the observer of what it does in `mode`.
    ///
    /// An observer may be in several modes of one loop. Adding it twice to a mode does nothing, nor does adding an invalid one.
    /// A loop that has ended makes the observer invalid.
    public func add(_ observer: LoopObserver, forMode mode: Mode) { observer.join(self, mode) }

    /// Takes the observer out of one mode.
    public func remove(_ observer: LoopObserver, forMode mode: Mode) { observer.leave(self, mode) }

    /// Whether the observer is notified in `mode`.
    public func contains(_ observer: LoopObserver, forMode mode: Mode) -> Bool { observer.isIn(self, mode) }

    /// Whether there may be an observer to notify of the activity. Most loops have none, and their passes take no lock for it.
    func isObserved(_ activity: LoopObserver.Activity) -> Bool {
        core.observed.load(ordering: .relaxed) & activity.rawValue != 0
    }

    func tell(_ activity: LoopObserver.Activity) {
        if !isObserved(activity) { return }
        forEachServed(LoopObserver.self, where: { $0.activities.contains(activity) }) { observer in
            observer.call(activity)
            return true
        }
    }
}
#endif
