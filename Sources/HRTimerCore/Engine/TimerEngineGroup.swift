// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc
import Synchronization

/// Several engines, by default one per processor, for programs that arm and cancel from many threads at once.
///
/// Each engine has its own lock, queue and thread, so that the engines share nothing.
///
///     let group = try TimerEngineGroup()
///     let timeout = TimerSource(engine: group.engine(for: connection.id))
///
/// Timers fire in order within an engine, but not across engines. All timers with one key use one engine. All members may
/// be called from any thread.
public final class TimerEngineGroup: Sendable {
    /// The engines.
    ///
    /// A timer must be cancelled by the engine that scheduled it.
    public let engines: [TimerEngine]
    private let turn = Atomic<Int>(0)

    /// Starts `count` engines, at least one; by default as many as there are processors online.
    ///
    /// The name of each is the configuration's name followed by its number. Throws as `TimerEngine` does.
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

    /// The next engine in turn, so that all engines get equally many timers.
    public var next: TimerEngine {
        let turn = turn.wrappingAdd(1, ordering: .relaxed).oldValue
        return engines[Int(UInt(bitPattern: turn) % UInt(engines.count))]
    }

    /// Returns the engine for a key: the same engine for equal keys, for the life of the process.
    public func engine(for key: some Hashable) -> TimerEngine {
        var hasher = Hasher()
        hasher.combine(key)
        return engines[Int(UInt(bitPattern: hasher.finalize()) % UInt(engines.count))]
    }

    /// How many timers are live on all engines.
    package var liveTimers: Int { engines.reduce(0) { $0 + $1.liveTimers } }

    /// Shuts down all engines, and returns how many timers they dropped; see `TimerEngine.shutdown()`.
    @available(*, noasync)
    @discardableResult
    public func shutdown() -> Int {
        engines.reduce(0) { $0 + $1.shutdown() }
    }

    /// Shuts all engines down as the synchronous `shutdown()` does, for asynchronous functions: no thread of theirs waits.
    @discardableResult
    public func shutdown() async -> Int {
        var dropped = 0
        for engine in engines { dropped += await engine.shutdown() }
        return dropped
    }
}
#endif
