// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import HRTimer
import Synchronization

/// Counts the fires of a crowd. Records time, usage and locks in the first fire and in the fire that is waited for.
final class CrowdCount: Sendable {
    /// The values that a handler recorded.
    struct Note: Sendable {
        let now_ns: Int64
        let usage: cbench_usage
        let locks: UInt64
    }

    private let fires = Atomic(0)
    /// The number of the fire that is waited for.
    private let goal: Int
    private let notes = Locked<[Note]>([])
    private let isReached = DispatchSemaphore(value: 0)

    init(goal: Int = .max) {
        self.goal = goal
    }

    var soFar: Int { fires.load(ordering: .relaxed) }

    /// Counts a fire. Called by handlers.
    func addOne() {
        let fire = fires.add(1, ordering: .relaxed).newValue
        if fire == goal || fire == 1 && goal < .max { note(fire) }
    }

    @inline(never)
    private func note(_ fire: Int) {
        let note = Note(now_ns: cbench_now_ns(), usage: cbench_usage_now(), locks: cbench_thread_locks())
        notes.withLock { $0.append(note) }
        if fire == goal { isReached.signal() }
    }

    /// Returns the notes of the first fire and of the awaited fire, or nil if the latter has not come within ten seconds.
    func waitForGoal() -> (first: Note, last: Note)? {
        guard isReached.wait(timeout: .now() + .seconds(10)) == .success else { return nil }
        // With a goal of one fire, the first note is also the last.
        return notes.withLock { notes in (notes[0], notes[notes.count - 1]) }
    }
}
