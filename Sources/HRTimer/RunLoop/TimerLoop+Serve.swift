#if os(Linux)
public import Dispatch
public import HRTimerCore
import HRTimerLibc

/// What `serve(on:)` began: another event loop that runs a `TimerLoop`. It goes on without this object.
public final class LoopHost: Sendable {
    private let end: Locked<(@Sendable () -> Void)?>

    init(_ end: (@Sendable () -> Void)?) {
        self.end = Locked(end)
    }

    /// Ends the hosting, after the handler that may be running, and lets go of the loop, which goes on and may be hosted again
    /// or run. Idempotent. Any thread; for an `event_base` its own.
    public func cancel() {
        let end = end.withLock { $0.take() }
        end?()
    }
}

extension TimerLoop {
    /// Has `queue` run the loop, in `mode`, from now until the host that is returned is cancelled; it holds the loop meanwhile.
    ///
    ///     try loop.serve(on: queue)
    ///     try TimerLoop.main.serve(on: .main)   // under Foundation's RunLoop.main.run()
    ///
    /// Handlers come on the queue, later than in a loop that waits itself by the queue's thread hop, and one at a time also if
    /// the queue is concurrent. Foundation's `RunLoop.main` and GLib's, Qt's or SDL's loops that serve the main queue are hosts
    /// by `DispatchQueue.main`, other threads' run loops by `serveOnCurrentRunLoop()`; where the main queue is not the main
    /// thread's, it hosts `TimerLoop.main` by itself.
    ///
    /// Throws EINVAL for what could never run: `TimerLoop.main` on another queue than the main one, and a thread's own loop on
    /// any. Throws ENOTSUP for a loop on an `event_base`, and what kept the loop from getting descriptors (EMFILE, ENFILE). Any
    /// thread. A read source of Dispatch on `hostDescriptor()`.
    @discardableResult
    public func serve(on queue: DispatchQueue, inMode mode: Mode = .default) throws(TimerError) -> LoopHost {
        let isOnMainQueue = MainQueue.isMain(queue)
        if let reason = reasonNotToServe(isOnMainQueue: isOnMainQueue) {
            throw TimerError(operation: reason, errorNumber: EINVAL)
        }
        if isMain, mode == .default || mode == .common { return try serveMain() }
        return try watch(on: queue, mode)
    }

    private func watch(on queue: DispatchQueue, _ mode: Mode) throws(TimerError) -> LoopHost {
        let isOnMainQueue = MainQueue.isMain(queue)
        // Sources are thread-safe, their type only does not say so: dispatch_source_create(3).
        nonisolated(unsafe) let source = DispatchSource.makeReadSource(
            fileDescriptor: try hostDescriptor(),
            queue: queue
        )
        // The handler holds source and loop until the source is cancelled, and the descriptor watched no more.
        source.setEventHandler { @Sendable in
            withExtendedLifetime(source) { self.process(inMode: mode, isOnMainQueue: isOnMainQueue) }
        }
        source.activate()
        // Makes the descriptor readable: the first call.
        waiter.wake()
        return LoopHost { source.cancel() }
    }

}

/// Whether the main queue hosts `TimerLoop.main`: by request, or by itself, since the main thread is gone.
private struct MainHosts: Sendable {
    static let shared = Locked(MainHosts())

    var asked = 0
    var hasMoved = false
    var own: LoopHost?

    /// Never two at a time: each would be woken for everything.
    var needsOwn: Bool { hasMoved && asked == 0 && own == nil }
}

extension TimerLoop {
    /// The main queue is not the main thread's any more.
    func followMainQueue() {
        MainHosts.shared.withLock { hosts in
            hosts.hasMoved = true
            hostOnMainQueue(&hosts)
        }
    }

    private func hostOnMainQueue(_ hosts: inout MainHosts) {
        guard hosts.needsOwn else { return }
        do throws(TimerError) {
            hosts.own = try watch(on: .main, .default)
        } catch {
            fatalError("the main queue has left the main thread, and cannot host TimerLoop.main: \(error)")
        }
    }

    private func serveMain() throws(TimerError) -> LoopHost {
        let isThere = MainHosts.shared.withLock { hosts in
            if hosts.own == nil { hosts.asked += 1 }
            return hosts.own != nil
        }
        if isThere { return LoopHost(nil) }
        do throws(TimerError) {
            let host = try watch(on: .main, .default)
            return LoopHost {
                host.cancel()
                self.endServingMain()
            }
        } catch {
            endServingMain()
            throw error
        }
    }

    private func endServingMain() {
        MainHosts.shared.withLock { hosts in
            hosts.asked -= 1
            hostOnMainQueue(&hosts)
        }
    }
}
#endif
