#if os(Linux)
import HRTimerCore
import Synchronization

/// Is notified of what a loop is doing: `CFRunLoopObserver`.
///
///     let observer = LoopObserver(activities: .beforeWaiting) { observer, activity in redraw() }
///     TimerLoop.current.add(observer, forMode: .common)
///
/// Called on the loop's thread, those of a lower `order` first, equal ones in order of arrival. An observer is not called
/// from within its own call. It does not keep a loop running. The handler is freed by `invalidate()`, and after the call
/// of an observer that does not repeat. Any thread.
public final class LoopObserver: Sendable {
    /// Points in a pass of a loop.
    public struct Activity: OptionSet, Hashable, Sendable {
        /// The bits, those of `CFRunLoopActivity`.
        public let rawValue: UInt32

        /// A set by its bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// A run begins, a nested one too.
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
        /// All of them.
        public static let all: Activity = [.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit]
    }

    /// What an observer calls.
    public typealias Handler = @Sendable (LoopObserver, Activity) -> Void
    /// The same, or a function of an actor, which is called on that: at once where the loop's thread is the actor's, elsewhere by
    /// a task for each activity, when the loop has gone on. A closure in code of a global actor belongs to that.
    public typealias Block = @isolated(any) @Sendable (LoopObserver, Activity) -> Void

    /// The activities that it is notified of.
    public let activities: Activity
    /// Its place among the observers.
    public let order: Int
    /// Whether it goes on after the first call.
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
        // One that does not repeat is invalid by the time that its call comes.
        attachment = Attachment(onItsActor(unless: { repeats && !$0.isValid }, handler))
    }

    /// False once invalidated, or called if it does not repeat.
    public var isValid: Bool { attachment.handler != nil }

    /// Takes it out of its loop and frees the handler. Idempotent.
    public func invalidate() {
        attachment.end { $0.forget(self) }
    }

    func call(_ activity: Activity) {
        guard let handler = attachment.handler else { return }
        // One thread runs the loop: nobody else sets the flag meanwhile.
        if isCalled.exchange(true, ordering: .acquiringAndReleasing) { return }
        defer { isCalled.store(false, ordering: .releasing) }
        handler(self, activity)
        if !repeats { invalidate() }
    }
}

extension TimerLoop {
    /// Has the observer notified of what the loop does in `mode`. One loop, several modes; adding it twice to a mode,
    /// or an invalid one, does nothing. In a loop that has ended it becomes invalid.
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

    /// Whether there may be an observer to notify.
    func isObserved(_ activity: LoopObserver.Activity) -> Bool {
        observed.load(ordering: .relaxed) & activity.rawValue != 0
    }

    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    func tell(_ activity: LoopObserver.Activity) {
        // Most loops have no observer: then a pass takes no lock for them.
        if isObserved(activity) { tellObservers(activity) }
    }

    @inline(never)
    private func tellObservers(_ activity: LoopObserver.Activity) {
        let observers = state.withLock { state in state.observers.items { state.serves($0) } }
        for observer in observers where observer.activities.contains(activity) {
            // An earlier one may have taken it out.
            let isServed = state.withLock { state in
                state.observers.contains(id: observer.attachment.id) { state.serves($0) }
            }
            if isServed { observer.call(activity) }
        }
    }
}
#endif
