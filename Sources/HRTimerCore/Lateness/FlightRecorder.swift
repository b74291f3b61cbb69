// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
package import CHRTimer
import HRTimerLibc
import Synchronization

/// A recorder of the latest parks, spins, calls and deliveries of some engines and loops, to be looked at when something was
/// late.
///
///     let recorder = FlightRecorder()
///     TimerEngine.shared.flightRecorder = recorder
///     …
///     try recorder.dump(to: "late.json")
///
/// A ring buffer, to which any number of threads write without a lock and without an allocation; each event takes some tens of
/// nanoseconds. Nothing is recorded until an engine or a loop gets the recorder. The file is in the Trace Event Format, which
/// ui.perfetto.dev and chrome://tracing open.
@safe public final class FlightRecorder: @unchecked Sendable {
    // Sendable: the pointer is constant, and hrt_recorder is thread-safe. Safe: it lives as long as this object, and nobody else has its
    // address.
    private let recorder: OpaquePointer
    package let bound_ns: Int64
    private let automatic = Locked(Automatic())

    private struct Automatic: Sendable {
        var path: String?
        /// When the latest dump was, by the clock of the fire that caused it.
        var dumped_ns: Int64?
        var count = 0
    }

    /// The kind of an event. A number above these is a part of a lateness: `late` plus the number of its cause.
    package enum Kind: UInt32 {
        case arm, park, spin, call, delivery
        static let late: UInt32 = 16
    }

    /// Makes room for `capacity` events, rounded up to a power of two.
    ///
    /// Fires that are later than `bound` are marked, with their causes: one more event for each cause. Running out of memory
    /// ends the process.
    public init(capacity: Int = 4096, lateBeyond bound: some TimeSpan = Duration.milliseconds(1)) {
        var made: OpaquePointer?
        let status = unsafe hrt_recorder_create(max(1, capacity), &made)
        guard status == 0, let made = unsafe made else {
            fatalError("no memory for a flight recorder of \(capacity) events")
        }
        unsafe recorder = made
        bound_ns = max(0, bound.nanosecondsOrZero)
    }

    deinit { unsafe hrt_recorder_destroy(recorder) }

    /// The number of events for which there is room.
    package var capacity: Int { unsafe hrt_recorder_capacity(recorder) }

    /// The file to which late fires write all that was recorded, in place of what was there; nil, as at first, for none.
    ///
    /// The next late fire writes the file, later ones at most once a minute. A thread of its own writes it, so that the next
    /// fire is not delayed. If the file cannot be written, nothing happens.
    public var dumpsLateFiresTo: String? {
        get { automatic.withLock { $0.path } }
        set { automatic.withLock { $0.path = newValue } }
    }

    /// The number of files that late fires have written, or are about to write.
    package var dumps: Int { automatic.withLock { $0.count } }

    package func add(_ kind: Kind, _ timer: TimerToken, _ begin_ns: Int64, _ end_ns: Int64, _ value: Int64) {
        add(kind.rawValue, timer, begin_ns, end_ns, value)
    }

    private func add(_ kind: UInt32, _ timer: TimerToken, _ begin_ns: Int64, _ end_ns: Int64, _ value: Int64) {
        var record = hrt_record()
        (record.begin_ns, record.end_ns, record.value) = (begin_ns, end_ns, value)
        (record.kind, record.slot, record.generation) = (kind, timer.slot, timer.generation)
        unsafe hrt_recorder_add(recorder, &record)
    }

    package func addLate(_ call: LateCall) {
        let parts = call.explanation.parts
        let deadline_ns = call.called_ns.subtractingSaturating(parts.lateness_ns)
        if parts.lateness_ns <= bound_ns { return }
        for cause in LatenessCause.allCases where parts[cause] > 0 {
            add(Kind.late + UInt32(cause.number), call.timer, deadline_ns, call.called_ns, parts[cause])
        }
        dumpByItself(call.called_ns)
    }

    private func dumpByItself(_ now_ns: Int64) {
        let path = automatic.withLock { automatic -> String? in
            guard let path = automatic.path else { return nil }
            if let before_ns = automatic.dumped_ns, now_ns.subtractingSaturating(before_ns) < 60_000_000_000 {
                return nil
            }
            automatic.dumped_ns = now_ns
            automatic.count += 1
            return path
        }
        guard let path else { return }
        do throws(TimerError) {
            pthread_detach(try startThread { [self] in try? dump(to: path) })
        } catch {
            // Without a thread there is no file.
        }
    }

    /// The recorded events, the oldest first. O(capacity). Any thread, also while others record.
    package var records: [hrt_record] {
        let capacity = capacity
        return unsafe [hrt_record](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = unsafe buffer.baseAddress.map { unsafe hrt_recorder_copy(recorder, $0, capacity) } ?? 0
        }
    }
}
#endif
