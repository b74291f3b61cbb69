// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// A clock that the library does not know: it sleeps by one that it does.
struct ForeignClock: Clock, Identifiable {
    let base: MonotonicClock
    let id = "foreign"
    var now: MonotonicInstant { base.now }
    var minimumResolution: Duration { base.minimumResolution }
    func sleep(until deadline: MonotonicInstant, tolerance: Duration?) async throws {
        try await base.sleep(until: deadline, tolerance: tolerance)
    }
}
