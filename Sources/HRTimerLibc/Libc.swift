#if os(Linux)
// Which C library there is: the one file that asks. Musl is that of the Static Linux SDK.
#if canImport(Glibc)
@_exported public import Glibc
#elseif canImport(Musl)
@_exported public import Musl
#endif
#endif
