#if os(Linux)
import HRTimerLibc
import Synchronization

/// Several engines, by default one a processor, for programs that arm and cancel from many threads at once: each engine
/// has its own lock, queue and thread, so that they share nothing.
///
///     let group = try TimerEngineGroup()
///     let timeout = TimerSource(engine: group.engine(for: connection.id))
///
/// Order holds within an engine, not between them. Everything with one key goes by one engine. All members may be called from
/// any thread.
public final class TimerEngineGroup: Sendable {
    /// The engines; a timer of one is cancelled by the same one.
    public let engines: [TimerEngine]
    private let turn = Atomic<Int>(0)

    /// Starts `count` engines, as many as there are processors online by default, at least one; each with its number behind the
    /// configuration's name. Throws as `TimerEngine` does.
    public init(
        count: Int? = nil,
        _ configuration: TimerEngine.Configuration = .init()
    ) throws(TimerError) {
        var engines: [TimerEngine] = []
        for number in 0..<max(1, count ?? sysconf(Int32(_SC_NPROCESSORS_ONLN))) {
            var own = configuration
            own.name = "\(configuration.name.prefix(12))-\(number)"
            engines.append(try TimerEngine(own))
        }
        self.engines = engines
    }

    /// One engine after another, so that each gets as many timers.
    public var next: TimerEngine {
        let turn = turn.wrappingAdd(1, ordering: .relaxed).oldValue
        return engines[Int(UInt(bitPattern: turn) % UInt(engines.count))]
    }

    /// The same engine for equal keys, for the life of the process.
    public func engine(for key: some Hashable) -> TimerEngine {
        var hasher = Hasher()
        hasher.combine(key)
        return engines[Int(UInt(bitPattern: hasher.finalize()) % UInt(engines.count))]
    }

    /// How many timers are live on all of them.
    public var liveTimers: Int { engines.reduce(0) { $0 + $1.liveTimers } }

    /// Ends all of them, and gives how many timers they dropped; see `TimerEngine.shutdown()`.
    @discardableResult
    public func shutdown() -> Int {
        engines.reduce(0) { $0 + $1.shutdown() }
    }
}
#endif
