#if os(Linux)
import CHRTimer
import Synchronization

/// The process's one engine, or another object that owns threads: made at first use, and never freed. In a child of fork(2),
/// which has none of those threads, a new one takes its place.
package final class SharedEngine<Engine: AnyObject & Sendable>: Sendable {
    /// The engine's address, of a reference that is never released; 0 before there is one.
    private let address = Atomic<UInt>(0)
    /// The process that it was made in.
    private let generation = Atomic<UInt32>(0)
    private let making = Locked(())
    private let make: @Sendable (TimeBase) throws -> Engine

    package init(_ make: @escaping @Sendable (TimeBase) throws -> Engine) {
        self.make = make
    }

    /// In virtual time that time's own.
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

    private var present: Engine? {
        // The address is written before the generation.
        guard generation.load(ordering: .acquiring) == hrt_fork_generation(),
            let address = UnsafeRawPointer(bitPattern: address.load(ordering: .relaxed))
        else { return nil }
        // Retained for ever by `made`.
        return Unmanaged<Engine>.fromOpaque(address).takeUnretainedValue()
    }

    @inline(never)
    private func made() -> Engine {
        making.withLock { _ in
            if let present { return present }
            do {
                // Of the process, and so on the kernel's time, even if code in virtual time uses it first.
                let engine = try make(.kernel)
                let address = UInt(bitPattern: Unmanaged.passRetained(engine).toOpaque())
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
