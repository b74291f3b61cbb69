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
    public typealias Handler = @Sendable (LoopObserver, Activity) -> Void
    /// A `Handler`, or a function of an actor. The latter is called on its actor: at once if the loop's thread is the actor's,
    /// otherwise by a task for each activity, after the loop has gone on. A closure in a global actor's code belongs to it.
    public typealias Block = @isolated(any) @Sendable (LoopObserver, Activity) -> Void

    /// The activities that the observer is notified of.
    public let activities: Activity
    /// The observer's place among the observers of its loop: lower orders are called first.
    public let order: Int
    /// Whether the observer goes on after its first call.
    public let repeats: Bool
    let attachment: Attachment<Handler>
    private let isCalled = Atomic(false)

    /// An observer that is in no loop yet.
    public init(
        activities: Activity = .all,
        repeats: Bool = true,
        order: Int = 0,
        @_inheritActorContext handler: @escaping Block
    ) {
        self.activities = activities
        self.repeats = repeats
        self.order = order
        // An observer that does not repeat is already invalid when a call by a task comes, so that must not prevent the call.
        attachment = Attachment(onItsActor(unless: { repeats && !$0.isValid }, handler))
    }

    /// Whether the observer is valid. False after `invalidate()`, and after the call of an observer that does not repeat.
    public var isValid: Bool { attachment.handler != nil }

    /// Takes the observer out of its loop and frees the handler. Idempotent.
    public func invalidate() {
        attachment.end { $0.forget(self) }
    }

    func call(_ activity: Activity) {
        guard let handler = attachment.handler else { return }
        // One thread runs the loop, so nobody else sets the flag meanwhile.
        if isCalled.exchange(true, ordering: .acquiringAndReleasing) { return }
        defer { isCalled.store(false, ordering: .releasing) }
        handler(self, activity)
        if !repeats { invalidate() }
    }
}

extension TimerLoop {
    /// Makes the loop notify the observer of what it does in `mode`. An observer may be in several modes of one loop. Adding it
    /// twice to a mode does nothing, nor does adding an invalid one. A loop that has ended makes the observer invalid.
    public func add(_ observer: LoopObserver, forMode mode: Mode) {
        _ = observer.attachment.attach(to: self) { _ in
            state.withLock { state in
                guard !state.isEnded else { return false }
                let index = state.modes.index(of: mode)
                let id = observer.attachment.id
                _ = state.observers.add(observer, id: id, order: observer.order, mode: index, &state.modes)
                observed.bitwiseOr(observer.activities.rawValue, ordering: .relaxed)
                return true
            }
        }
    }

    /// Takes the observer out of one mode.
    public func remove(_ observer: LoopObserver, forMode mode: Mode) {
        observer.attachment.detach(from: self) {
            state.withLock { state in
                guard let index = state.modes.known(mode) else { return false }
                guard let change = state.observers.remove(id: observer.attachment.id, mode: index, &state.modes) else {
                    return false
                }
                return state.modes.isEmpty(change.to)
            }
        }
    }

    /// Whether the observer is notified in `mode`.
    public func contains(_ observer: LoopObserver, forMode mode: Mode) -> Bool {
        state.withLock { state in
            state.modes.known(mode).map { index in
                state.observers.contains(id: observer.attachment.id) { state.modes.contains($0, index) }
            } ?? false
        }
    }

    func forget(_ observer: LoopObserver) {
        state.withLock { _ = $0.observers.remove(id: observer.attachment.id) }
    }

    /// Whether there may be an observer to notify of the activity.
    func isObserved(_ activity: LoopObserver.Activity) -> Bool {
        observed.load(ordering: .relaxed) & activity.rawValue != 0
    }

    func tell(_ activity: LoopObserver.Activity) {
        // Most loops have no observer; their passes then take no lock here.
        if isObserved(activity) { tellObservers(activity) }
    }

    private func tellObservers(_ activity: LoopObserver.Activity) {
        let observers = state.withLock { state in state.observers.items { state.serves($0) } }
        for observer in observers where observer.activities.contains(activity) {
            // An observer that was called before may have taken this one out.
            let isServed = state.withLock { state in
                state.observers.contains(id: observer.attachment.id) { state.serves($0) }
            }
            if isServed { observer.call(activity) }
        }
    }
}
#endif
