#if os(Linux)
package import CHRTimer
import HRTimerLibc
import Synchronization

/// The latest parks, spins, calls and deliveries of some engines and loops, to be looked at when something was late.
///
///     let recorder = FlightRecorder()
///     engine.flightRecorder = recorder
///     …
///     try recorder.dump(to: "late.json")
///
/// A ring, written without a lock and without an allocation by any number of threads; each event takes some tens of
/// nanoseconds. Off until an engine or a loop gets it. The file is in the Trace Event Format, which ui.perfetto.dev and
/// chrome://tracing open.
public final class FlightRecorder: @unchecked Sendable {
    // Sendable: the pointer is constant, and hrt_recorder is thread-safe.
    private let recorder: OpaquePointer
    package let bound_ns: Int64
    private let automatic = Locked(Automatic())

    private struct Automatic: Sendable {
        var path: String?
        /// When there was a dump last, by the clock of the fire that caused it.
        var dumped_ns: Int64?
        var count = 0
    }

    /// What an event is. Above these is a part of a lateness: `late` plus the number of its cause.
    package enum Kind: UInt32 {
        case arm, park, spin, call, delivery
        static let late: UInt32 = 16
    }

    /// Has room for so many events, rounded up to a power of two. Fires that are later than `bound` are marked, with their
    /// causes: one event more for each cause. Running out of memory ends the process.
    public init(capacity: Int = 4096, lateBeyond bound: some TimeSpan = Duration.milliseconds(1)) {
        var made: OpaquePointer?
        let status = hrt_recorder_create(max(1, capacity), &made)
        guard status == 0, let made else { fatalError("no memory for a flight recorder of \(capacity) events") }
        recorder = made
        bound_ns = max(0, bound.nanosecondsOrZero)
    }

    deinit { hrt_recorder_destroy(recorder) }

    /// For how many events there is room.
    public var capacity: Int { hrt_recorder_capacity(recorder) }

    /// From now on the first late fire writes all that was recorded to this file, in place of what was there, and then one a
    /// minute at most. On a thread of its own, which does not delay the next fire; where the file cannot be written nothing
    /// happens. Nil, as at first: none does.
    public var dumpsLateFiresTo: String? {
        get { automatic.withLock { $0.path } }
        set { automatic.withLock { $0.path = newValue } }
    }

    /// How many files late fires had written, or are about to.
    package var dumps: Int { automatic.withLock { $0.count } }

    package func add(_ kind: Kind, _ timer: TimerToken, _ begin_ns: Int64, _ end_ns: Int64, _ value: Int64) {
        add(kind.rawValue, timer, begin_ns, end_ns, value)
    }

    private func add(_ kind: UInt32, _ timer: TimerToken, _ begin_ns: Int64, _ end_ns: Int64, _ value: Int64) {
        var record = hrt_record()
        (record.begin_ns, record.end_ns, record.value) = (begin_ns, end_ns, value)
        (record.kind, record.slot, record.generation) = (kind, timer.slot, timer.generation)
        hrt_recorder_add(recorder, &record)
    }

    package func addLate(_ call: LateCall, _ parts: LatenessParts) {
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

    /// The events that are there, the oldest first; O(capacity). Any thread, also while others record.
    package var records: [hrt_record] {
        let capacity = capacity
        return [hrt_record](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = buffer.baseAddress.map { hrt_recorder_copy(recorder, $0, capacity) } ?? 0
        }
    }
}
#endif
