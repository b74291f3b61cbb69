#if os(Linux)
public import Dispatch
public import HRTimerCore
import HRTimerLibc

/// The hosting that `serve(on:)` began: another event loop runs a `TimerLoop`. It goes on without this object.
public final class LoopHost: Sendable {
    private let end: Locked<(@Sendable () -> Void)?>

    init(_ end: (@Sendable () -> Void)?) {
        self.end = Locked(end)
    }

    /// Ends the hosting, after the handler that may be running, and releases the loop, which goes on and may be hosted again
    /// or run. Idempotent. Any thread; for an `event_base` only the base's own.
    public func cancel() {
        let end = end.withLock { $0.take() }
        end?()
    }
}

extension TimerLoop {
    /// Makes `queue` run the loop in `mode` from now until the returned host is cancelled. The loop is held until then.
    ///
    ///     try loop.serve(on: queue)
    ///     try TimerLoop.main.serve(on: .main)   // under Foundation's RunLoop.main.run()
    ///
    /// Handlers are called on the queue, later than in a loop that waits by itself by the hop to the queue's thread, and one
    /// at a time even if the queue is concurrent. Foundation's `RunLoop.main`, and loops of GLib, Qt or SDL that serve the
    /// main queue, are hosts by `DispatchQueue.main`; run loops of other threads are hosts by `serveOnCurrentRunLoop()`.
    /// Where the main queue does not belong to the main thread, it hosts `TimerLoop.main` by itself.
    ///
    /// Throws EINVAL for what could never run: `TimerLoop.main` on another queue than the main one, and a thread's own loop
    /// on any queue. Throws ENOTSUP for a loop on an `event_base`, and the error that kept the loop from getting descriptors
    /// (EMFILE, ENFILE). Any thread. A read source of Dispatch on `hostDescriptor()`.
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
        // Dispatch sources are thread-safe, only their type does not say so: dispatch_source_create(3).
        nonisolated(unsafe) let source = DispatchSource.makeReadSource(
            fileDescriptor: try hostDescriptor(),
            queue: queue
        )
        // The handler holds the source and the loop until the source is cancelled and no longer watches the descriptor.
        source.setEventHandler { @Sendable in
            withExtendedLifetime(source) { self.process(inMode: mode, isOnMainQueue: isOnMainQueue) }
        }
        source.activate()
        // Makes the descriptor readable, which causes the first call.
        waiter.wake()
        return LoopHost { source.cancel() }
    }

}

/// Whether the main queue hosts `TimerLoop.main`: by request, or by itself because the main thread is gone.
private struct MainHosts: Sendable {
    static let shared = Locked(MainHosts())

    var asked = 0
    var hasMoved = false
    var own: LoopHost?

    /// Whether the queue must begin to host by itself. There are never two hosts: each would be woken for everything.
    var needsOwn: Bool { hasMoved && asked == 0 && own == nil }
}

extension TimerLoop {
    /// Notes that the main queue no longer belongs to the main thread, and so must host this loop by itself.
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
