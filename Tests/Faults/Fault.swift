// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// The fault that this process has again; empty if none.
private let chosenFault: String = getenv("HRTIMER_FAULT").map { String(cString: $0) } ?? ""

/// Whether this process has that fault again. `make faults` copies this file into each module that has one.
@inline(never)
func fault(_ name: String) -> Bool { name == chosenFault }
#endif
