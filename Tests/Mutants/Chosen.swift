// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

/// Whether this process runs that mutant. `make mutants` copies this file into each module that it changes.
@inline(never)
func mutant(_ number: Int) -> Bool { hrt_mutant(CInt(number)) }
#endif
