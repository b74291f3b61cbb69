#if os(Linux)
import Synchronization

/// A field of this type has the compiler pass the value that it is in by address. Swift 6.3 copies any other value to the
/// stack for each call that borrows it: 390 bytes of a core, several times a fire.
struct PassedByAddress: ~Copyable {
    // What an atomic is in cannot be loaded into registers.
    private let none = Atomic<UInt8>(0)
}
#endif
