import HRTimer

/// One-shots of one engine: each fire arms the next.
final class OneShotFleet: RatedCrowd {
    private let engine: TimerEngine

    init() throws {
        engine = try TimerEngine(.init(name: "bench-soak"))
    }

    func arm(_ fleet: Fleet) throws {
        try armPending(fleet.timers.count, within: fleet.armingLimit) { index in
            Self.schedule(engine, fleet.member(index), at: fleet.timers[index].first_ns)
        }
    }

    /// Arms a timer. Timers must not retain their engine, which would never end otherwise.
    private static func schedule(_ engine: TimerEngine, _ member: Fleet.Member, at deadline_ns: Int64) {
        engine.schedule(at: MonotonicInstant(nanoseconds: deadline_ns)) { [weak engine] _ in
            let next_ns = member.fire()
            if let engine { schedule(engine, member, at: next_ns) }
        }
    }

    func clear() { engine.shutdown() }
}

/// One display link at its timers' rate, on a loop of the measuring thread. It reports the refresh of each call.
final class LinkFleet: RatedCrowd {
    private let loop = TimerLoop()
    private var links: [DisplayLink] = []

    func arm(_ fleet: Fleet) throws {
        for index in fleet.timers.indices {
            let member = fleet.member(index)
            let link = DisplayLink(framesPerSecond: 1e9 / Double(fleet.timers[index].interval_ns ?? 1)) { link in
                member.skip(to: link.timestamp.nanoseconds)
                member.fire()
            }
            link.add(to: loop, forMode: .default)
            links.append(link)
        }
    }

    func run(until instant_ns: Int64) { loop.run(until: MonotonicInstant(nanoseconds: instant_ns)) }
    func clear() { for link in links { link.invalidate() } }
}
