// SPDX-License-Identifier: Apache-2.0
import CHRTimer

/// The least work of any timer that has a handle and a lock.
extension PublicOperations {
    /// Creates and releases two objects as large as a source's, the closure and its payload, and takes the lock once for
    /// each of handler, schedule, activate and cancel.
    @Sendable
    static func churnLimit(_ timers: Int) -> OperationRival {
        rival("limit.objects-and-locks") { deadlines in
            let lock = UnsafeMutablePointer<hrt_lock>.allocate(capacity: 1)
            lock.initialize(to: hrt_lock())
            defer { lock.deallocate() }
            return OperationLoop().measure { index in
                let handle = makeHandle()
                let handler = makeHandler()
                locked(lock) { handle.core.handler = handler }
                let deadline_ns = Int(deadlines.any())
                locked(lock) { handle.core.state.0 = deadline_ns }
                locked(lock) { handle.core.state.1 = index }
                let former = locked(lock) { handle.core.handler.take() }
                withExtendedLifetime(former) {}
            }
        }
    }

    /// Takes a lock, and accesses one token, one node of the queue, which says whether the token is stale, and one record,
    /// each of a random timer and as large as ours.
    @Sendable
    static func reArmLimit(_ timers: Int) -> OperationRival {
        rival("limit.token-node-record") { deadlines in
            let lock = UnsafeMutablePointer<hrt_lock>.allocate(capacity: 1)
            lock.initialize(to: hrt_lock())
            let tokens = LimitMemory(hrt_token(slot: 0, generation: 1), timers)
            let nodes = LimitMemory((0, 1, 0, 0), timers)
            let records = LimitMemory((0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), timers)
            defer {
                lock.deallocate()
                tokens.free()
                nodes.free()
                records.free()
            }
            for timer in 0..<timers { tokens.first[timer].slot = UInt32(timer) }
            return OperationLoop().measure { index in
                let deadline_ns = Int(deadlines.later(index))
                let token = tokens.first[deadlines.timer(below: timers)]
                locked(lock) {
                    guard nodes.first[Int(token.slot)].1 == token.generation else { return }
                    nodes.first[Int(token.slot)].0 = deadline_ns
                    records.first[Int(token.slot)].3 = deadline_ns
                }
            }
        }
    }

    // Not inlined: the compiler would allocate an object on the stack if it did not leave the function.
    @inline(never)
    private static func makeHandle() -> LimitHandle { LimitHandle() }

    /// The handler that the compared sources also have.
    @inline(never)
    static func makeHandler() -> @Sendable () -> Void {
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

/// An array of `count` equal elements, initialized so that its pages are mapped.
private struct LimitMemory<Element> {
    let first: UnsafeMutablePointer<Element>

    init(_ element: Element, _ count: Int) {
        first = .allocate(capacity: count)
        first.initialize(repeating: element, count: count)
    }

    func free() { first.deallocate() }
}

private final class LimitHandle {
    let core = LimitCore()
}

private final class LimitCore {
    var handler: (@Sendable () -> Void)?
    /// Together with the handler and the runtime's two words as large as a source's core.
    var state = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}
