import CHRTimer

/// What no timer with a handle of its own, and a lock, can do without.
extension PublicOperations {
    /// A source's two objects, as large as they are, the closure and what it holds; and the lock once for each of handler,
    /// schedule, activate and cancel.
    @Sendable
    static func churnLimit(_ timers: Int) -> OperationRival {
        rival("limit.objects-and-locks") { _ in
            let lock = UnsafeMutablePointer<hrt_lock>.allocate(capacity: 1)
            lock.initialize(to: hrt_lock())
            defer { lock.deallocate() }
            return OperationLoop().measure { index in
                let handle = makeHandle()
                let handler = makeHandler()
                locked(lock) { handle.core.handler = handler }
                locked(lock) { handle.core.state.0 = index }
                locked(lock) { handle.core.state.1 = index }
                let former = locked(lock) { handle.core.handler.take() }
                withExtendedLifetime(former) {}
            }
        }
    }

    // Not inlined: what does not leave a function the compiler allocates on its stack.
    @inline(never)
    private static func makeHandle() -> LimitHandle { LimitHandle() }

    @inline(never)
    private static func makeHandler() -> @Sendable () -> Void {
        let payload = Payload()
        return { withExtendedLifetime(payload) {} }
    }

    @inline(__always)
    private static func locked<Result>(_ lock: UnsafeMutablePointer<hrt_lock>, _ body: () -> Result) -> Result {
        hrt_lock_acquire(lock)
        defer { hrt_lock_release(lock) }
        return body()
    }
}

private final class LimitHandle {
    let core = LimitCore()
}

private final class LimitCore {
    var handler: (@Sendable () -> Void)?
    /// With the handler and the runtime's two words as many bytes as a source's core.
    var state = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}
