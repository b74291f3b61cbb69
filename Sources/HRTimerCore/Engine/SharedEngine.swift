// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import Synchronization

/// The one engine of the process, or another object that owns threads: made at first use, and never freed. In a child of
/// fork(2), which has none of those threads, a new one takes its place.
package final class SharedEngine<Engine: AnyObject & Sendable>: Sendable {
    /// The address of the engine, of which one reference is never released; 0 before there is an engine.
    private let address = Atomic<UInt>(0)
    /// The fork generation of the process in which the engine was made.
    private let generation = Atomic<UInt32>(0)
    private let making = Locked(())
    private let make: @Sendable (TimeBase) throws -> Engine

    package init(_ make: @escaping @Sendable (TimeBase) throws -> Engine) {
        self.make = make
    }

    /// The engine of the process; in virtual time, that time's own.
    package var engine: Engine { engine(in: .current) }

    package func engine(in time: TimeBase) -> Engine {
        own(in: time) ?? present ?? made()
    }

    private func own(in time: TimeBase) -> Engine? {
        let made = time.own(ObjectIdentifier(self)) { time in
            do {
                return try make(time)
            } catch {
                fatalError("the shared timer engine of a virtual time \(error)")
            }
        }
        return made as? Engine
    }

    /// The engine of the process; nil before its first use.
    package var present: Engine? {
        // The address is written before the generation.
        guard generation.load(ordering: .acquiring) == hrt_fork_generation(),
            let address = unsafe UnsafeRawPointer(bitPattern: address.load(ordering: .relaxed))
        else { return nil }
        // Safe: `made` has retained it for ever.
        return unsafe Unmanaged<Engine>.fromOpaque(address).takeUnretainedValue()
    }

    @inline(never)
    private func made() -> Engine {
        making.withLock { _ in
            if let present { return present }
            do {
                // The engine is the process's, so it uses the kernel's time, even if code in virtual time is the first to
                // use it.
                let engine = try make(.kernel)
                let address = unsafe UInt(bitPattern: Unmanaged.passRetained(engine).toOpaque())
                self.address.store(address, ordering: .relaxed)
                generation.store(hrt_fork_generation(), ordering: .releasing)
                return engine
            } catch {
                fatalError("the shared timer engine \(error)")
            }
        }
    }
}
#endif
