// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
// The only file that asks which C library there is. Musl is the C library of the Static Linux SDK.
#if canImport(Glibc)
@_exported public import Glibc
#elseif canImport(Musl)
@_exported public import Musl
#endif
#endif
