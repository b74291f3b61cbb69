// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CTaskScope
import HRTimerCore

/// All that `DeadlineScope` takes from Swift's runtime without a promise: functions that are no interface, and the layout of a task. Nothing
/// else of the library uses CTaskScope.
///
/// It is tried once, at the first deadline of the process, on a task made for that. What is missing or does something else is
/// reported and not used: no deadline is lost then, but one cancels more than its operation.
enum TaskScope {
    private struct Known: Sendable {
        /// Whether the runtime tells which tasks are in the body of a group, and which have the same task-local values.
        var tasks = false
        /// Whether a part of a task can be cancelled, and nothing around it.
        var parts = false
    }

    private static let known: Known = {
        guard cts_is_there() else { return Known() }
        let found = Locked(Known())
        // Runs on the calling thread, to its end: it waits for nothing.
        Task.immediateDetached {
            let known = Known(tasks: await triesTasks(), parts: await triesPart())
            found.withLock { $0 = known }
        }
        return found.withLock { $0 }
    }()

    /// Whether the operation must run in the calling task, since that is in the body of a task group; true if that cannot be told.
    static var isInGroup: Bool { known.tasks ? cts_is_in_group() : true }

    static var knowsTasks: Bool { known.tasks }
    static var cancelsParts: Bool { known.tasks && known.parts }

    /// Returns the address of a task-local's value for the calling task; nil if it has none, or if that cannot be told. Child tasks have the
    /// same address; a task made by `Task {}` has another. Safe: only compared.
    @safe static func place<Value: Sendable>(of local: TaskLocal<Value>) -> UnsafeRawPointer? {
        known.tasks ? address(of: local) : nil
    }

    @safe private static func address<Value: Sendable>(of local: TaskLocal<Value>) -> UnsafeRawPointer? {
        unsafe cts_local_value(Unmanaged.passUnretained(local).toOpaque())
    }

    /// Whether the calling task should be cancelled, for a parent of it or a group around it is: a deadline's own cancellation hides that.
    static var isCancelledAround: Bool { cts_is_cancelled_around() }

    /// Has `isCancelledAround` learn, once, where a child task holds its parent: from a child whose parent is known.
    static func learnParents(isolation: isolated (any Actor)?) async {
        if cts_knows_parents() { return }
        await withTaskGroup(of: Void.self, isolation: isolation) { group in
            let parent = unsafe UInt(bitPattern: cts_current_task())
            // Safe: a group is one pointer (`@frozen`), and both addresses are compared and read only while the child runs.
            let address = unsafe withUnsafeBytes(of: &group) { unsafe $0.load(as: UInt.self) }
            group.addImmediateTask {
                unsafe cts_learn_parents(UnsafeRawPointer(bitPattern: parent), UnsafeRawPointer(bitPattern: address))
            }
        }
    }

    /// The executor that the calling task prefers; nil if it prefers none.
    static var preferredExecutor: (any TaskExecutor)? {
        unsafe withUnsafeCurrentTask { task in
            guard let executor = unsafe task?.unownedTaskExecutor else { return nil }
            return unsafe withUnsafeBytes(of: executor) { words in
                // Safe: both types are an object and its witness table, or null (`TaskExecutorRef` in swift/ABI/Executor.h).
                // The low bits of the table's word tell kinds of executors apart: 0 is this one, the only one up to Swift 6.4.
                // The task keeps the executor as long as it prefers it.
                guard words.count == MemoryLayout<(any TaskExecutor)?>.size,
                    unsafe words.load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self) % 8 == 0
                else { return nil }
                return unsafe words.load(as: (any TaskExecutor)?.self)
            }
        }
    }
}

/// A part of a task, which can be cancelled without the rest: what the task begins between `enter` and `leave`. Safe: its owner frees
/// it once, after `leave`, when nobody cancels it any more.
@safe struct TaskPart {
    @safe private let scope = UnsafeMutablePointer<cts_scope>.allocate(capacity: 1)

    func free() { unsafe scope.deallocate() }

    /// On the task, before the others.
    func enter() { unsafe cts_enter(scope) }

    /// Any thread.
    func cancel() { unsafe cts_cancel(scope) }

    /// On the task. Returns whether a cancellation was taken back.
    func leave() -> Bool { unsafe cts_leave(scope) }

    /// Whether `cancel` leaves the rest of the task alone, after `enter`, which looks at the task's layout each time. A task that is cancelled
    /// already has no part to be cancelled.
    var isKnown: Bool { unsafe scope.pointee.status != nil || scope.pointee.outer == nil }
    /// Whether the layout was looked at, and is the known one.
    fileprivate var hasKnownLayout: Bool { unsafe scope.pointee.status != nil }
}

// What is tried.
extension TaskScope {
    @TaskLocal private static var mark = 0

    private static func triesTasks() async -> Bool {
        if unsafe cts_is_in_group() || address(of: $mark) != nil { return false }
        let isRight = await $mark.withValue(1) {
            let own = address(of: $mark)
            let isOther = $mark.withValue(2) { unsafe address(of: $mark) != own }
            let isInside = await withTaskGroup(of: Bool.self) { group in
                let place = UInt(bitPattern: own)
                group.addImmediateTask { UInt(bitPattern: address(of: $mark)) == place && !cts_is_in_group() }
                let isSame = await group.next()
                return isSame == true && cts_is_in_group()
            }
            return unsafe own != nil && isOther && isInside
        }
        return isRight && !cts_is_in_group()
    }

    private static func triesPart() async -> Bool {
        let part = TaskPart()
        defer { part.free() }
        let ran = Locked((inside: false, around: false))
        var wasCancelled = false, isTakenBack = false
        await withTaskCancellationHandler {
            part.enter()
            await withTaskCancellationHandler {
                part.cancel()
                wasCancelled = Task.isCancelled && cts_is_cancelled()
            } onCancel: {
                ran.withLock { $0.inside = true }
            }
            isTakenBack = part.leave()
        } onCancel: {
            ran.withLock { $0.around = true }
        }
        return part.hasKnownLayout && wasCancelled && isTakenBack && !Task.isCancelled
            && !cts_is_cancelled() && ran.withLock { $0.inside && !$0.around }
    }
}

// What is told of it.
extension TaskScope {
    static func reportUnknownTasks() {
        report("a deadline cancels the task that calls withDeadline or withTimeout, for good")
    }

    static func reportUnknownParts() {
        report("in the body of a task group a deadline cancels the task of that group, for good")
    }

    private static func report(_ what: String) {
        UsageWarning.report(
            UsageWarning(
                .runtimeDiffers,
                "Swift's runtime cancels tasks otherwise than up to 6.4: \(what); give each a task of its own, or use a newer version of this "
                    + "library"
            )
        )
    }
}
#endif
