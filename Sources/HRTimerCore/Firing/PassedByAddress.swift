#if os(Linux)
import Synchronization

/// A field of this type makes the compiler pass the value that contains it by address. Swift 6.3 copies any other value to the
/// stack for each call that borrows it: 390 bytes of a core, several times a fire.
struct PassedByAddress: ~Copyable {
    // A value that contains an atomic cannot be loaded into registers.
    private let none = Atomic<UInt8>(0)
}
#endif
