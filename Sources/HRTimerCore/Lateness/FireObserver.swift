// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Synchronization

/// Somebody who watches the fires of a driver: of an engine's thread, of a loop's passes, or of virtual time in the place of
/// either. The driver tells it at these four points and nowhere else, without a lock.
///
/// A class, so that a driver that nobody watches copies a nil pointer. For a protocol that structs may conform to, each copy of
/// nil, five in a fire, calls the runtime several times.
///
/// A tick that its policy leaves out passes the last two points as well, as a fire that calls nothing: see `Fire.leftOut`.
package protocol FireObserver: AnyObject, Sendable {
    /// The thread is about to sleep.
    func willPark(_ park: Park)

    /// The thread is awake again, maybe a spin window before the instant that it parked for.
    func didWake(from park: Park)

    /// The call is made next, at `called_ns` of the fire, which is on the driver's clock.
    func willCall(_ fire: borrowing Fire)

    /// The call has returned.
    func didCall(_ fire: borrowing Fire)
}

/// The place of a driver's observer: nil unless somebody watches. Any thread may begin to watch while the driver's thread runs.
@safe package struct ObserverPlace: ~Copyable, Sendable {
    private let configured: (any FireObserver)?
    // Safe: set once, to an object that this value retains until it ends; who reads it holds the driver, and so this value.
    @safe private let reporting = unsafe Atomic<Unmanaged<LatenessObserver>?>(nil)

    /// `configured` watches from the start.
    package init(_ configured: (any FireObserver)? = nil) { self.configured = configured }

    deinit { unsafe reporting.load(ordering: .acquiring)?.release() }

    /// The observer that the driver tells. One atomic load.
    package var value: (any FireObserver)? {
        if let reports { return reports }
        return configured
    }

    /// The observer that explains late fires; nil before somebody wants reports.
    package var reports: LatenessObserver? { unsafe reporting.load(ordering: .acquiring)?.takeUnretainedValue() }

    /// Returns the observer that explains late fires. From now on the driver's thread notes what it does.
    package func makeReports(name: String, clock: TimeBase, isLoop: Bool) -> LatenessObserver {
        if let reports { return reports }
        let made = unsafe Unmanaged.passRetained(
            LatenessObserver(name: name, clock: clock, isLoop: isLoop, beside: configured)
        )
        let (isFirst, first) = unsafe reporting.compareExchange(
            expected: nil,
            desired: made,
            ordering: .acquiringAndReleasing
        )
        if isFirst { return unsafe made.takeUnretainedValue() }
        // Another thread was faster.
        unsafe made.release()
        return unsafe first!.takeUnretainedValue()
    }

    package var statistics: LatenessStatistics { reports?.statistics ?? LatenessStatistics() }
}
#endif
