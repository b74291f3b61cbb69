// SPDX-License-Identifier: Apache-2.0
// fires FACE PRECISION HERTZ SECONDS: a repeating timer, alone in its process. Prints the processor time a fire in µs, the
// median lateness in µs, and the shares of fires within 1 and 5 µs of the deadline in percent.
import Glibc
import HRTimer
import Synchronization

func now_ns(_ clock: clockid_t) -> Int64 {
    var now = timespec()
    clock_gettime(clock, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
}

/// How late the fires of a run were.
final class Fires: @unchecked Sendable {
    // Sendable: the timer's thread writes beyond `number`, and the main thread reads below it.
    private let late_ns: UnsafeMutablePointer<Int64>
    private let capacity: Int
    private let number = Atomic(0)

    var count: Int { number.load(ordering: .acquiring) }

    init(capacity: Int) {
        self.capacity = capacity
        late_ns = .allocate(capacity: capacity)
        late_ns.initialize(repeating: 0, count: capacity)
    }

    /// The handler: it reads the clock first.
    func fire(_ deadline_ns: Int64) {
        let now_ns = now_ns(CLOCK_MONOTONIC)
        let count = number.load(ordering: .relaxed)
        guard count < capacity else { return }
        late_ns[count] = now_ns - deadline_ns
        number.store(count + 1, ordering: .releasing)
    }

    func printSummary(of range: Range<Int>, used_ns: Int64) {
        let sorted = range.map { late_ns[$0] }.sorted()
        guard let least = sorted.first else { return print("no fires") }
        let count = Double(sorted.count)
        let median_ns = sorted[sorted.count / 2]
        let shares = [1000, 5000].map { bound_ns in 100 * Double(sorted.count { $0 <= bound_ns }) / count }
        print(Double(used_ns) / 1000 / count, Double(median_ns) / 1000, shares[0], shares[1], least < 0 ? "early" : "")
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 5, ["bare", "engine", "source", "loop"].contains(arguments[1]),
    ["normal", "precise"].contains(arguments[2]),
    let hertz = Int64(arguments[3]), (1...100_000).contains(hertz),
    let seconds = Double(arguments[4]), (0.1...3600).contains(seconds)
else {
    print("usage: fires bare|engine|source|loop normal|precise HERTZ SECONDS; 1 to 100000 Hz, 0.1 to 3600 s")
    exit(2)
}
let precision: TimerPrecision = arguments[2] == "precise" ? .precise : .normal

let fires = Fires(capacity: Int(Double(hertz) * (seconds + 1) * 2))
let interval_ns = 1_000_000_000 / hertz
let interval = Duration.nanoseconds(interval_ns)
let first_ns = now_ns(CLOCK_MONOTONIC) + 5_000_000
let first = MonotonicInstant(nanoseconds: first_ns)

/// The deadlines of a face that does not tell them.
final class Deadlines: @unchecked Sendable {
    // Sendable: only the timer's thread touches it once the timer has started.
    var next_ns = first_ns

    func fire(missed: Int) {
        next_ns += Int64(missed) * interval_ns
        fires.fire(next_ns)
        next_ns += interval_ns
    }
}
let deadlines = Deadlines()

/// The bare loop: sleeps and calls, on a thread of its own.
@Sendable func sleepBare(_ deadlines: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let deadlines = Unmanaged<Deadlines>.fromOpaque(deadlines!).takeUnretainedValue()
    while true {
        let next_ns = deadlines.next_ns
        var deadline = timespec(tv_sec: Int(next_ns / 1_000_000_000), tv_nsec: Int(next_ns % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nil) == EINTR {}
        deadlines.fire(missed: 0)
    }
}

/// Starts the timer, outside of the main actor, to which its handler would belong. Returns what must be kept.
func start(_ face: String) throws -> [Any] {
    switch face {
    case "bare":
        // The timer slack that threads of this one begin with, proc(5).
        let slack = open("/proc/self/timerslack_ns", O_WRONLY)
        guard write(slack, "1", 1) == 1 else { fatalError("no timerslack_ns") }
        var thread = pthread_t()
        pthread_create(&thread, nil, sleepBare, Unmanaged.passUnretained(deadlines).toOpaque())
        return []
    case "engine":
        let engine = try TimerEngine(precision: precision)
        engine.schedule(at: first, every: interval) { fires.fire($0.deadline.nanoseconds) }
        return [engine]
    case "source":
        let source = TimerSource(engine: try TimerEngine(precision: precision))
        source.schedule(deadline: first, repeating: interval)
        source.setEventHandler { [unowned source] in deadlines.fire(missed: Int(source.data) - 1) }
        source.activate()
        return [source]
    case "loop":
        let thread = try TimerLoop.thread(name: "loop", precision: precision)
        let timer = LoopTimer(fireAt: first, interval: interval, repeats: true) {
            deadlines.fire(missed: $0.missedTicks)
        }
        thread.loop.add(timer, forMode: .default)
        return [thread, timer]
    default: return []
    }
}

let kept = try start(arguments[1])
usleep(300_000)
let (settled, begun_ns) = (fires.count, now_ns(CLOCK_PROCESS_CPUTIME_ID))
usleep(useconds_t(seconds * 1e6))
fires.printSummary(of: settled..<fires.count, used_ns: now_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_ns)
exit(0)
