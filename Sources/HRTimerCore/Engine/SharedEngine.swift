import CHRTimer
import Synchronization

/// An engine for whoever needs no own: made at first use, and never let go. In a child of fork(2), where its thread is not, a
/// new one takes its place.
final class SharedEngine<Engine: AnyObject & Sendable>: Sendable {
    /// The engine's address, of a reference that is never released; 0 before there is one.
    private let address = Atomic<UInt>(0)
    /// The process that it was made in.
    private let generation = Atomic<UInt32>(0)
    private let making = Locked(())
    private let make: @Sendable () throws -> Engine

    init(_ make: @escaping @Sendable () throws -> Engine) {
        self.make = make
    }

    var engine: Engine { present ?? made() }

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
                let engine = try make()
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
