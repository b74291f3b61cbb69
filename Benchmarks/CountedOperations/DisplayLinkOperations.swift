import HRTimer

/// Links of displays without hardware, in a loop that the calling thread runs.
enum DisplayLinkOperations {
    static let all = [CountedOperation("DisplayLink", "frame", frame)]

    /// One call of a link for its frame. A batch of links has the same refreshes, 1 ms apart.
    private static func frame(_ world: FrozenWorld) -> (Int) -> Void {
        let loop = world.makeLoop()
        let links = (0..<FrozenWorld.batch).map { _ in
            let link = DisplayLink(framesPerSecond: 1000) { _ in }
            link.add(to: loop, forMode: .default)
            return link
        }
        return { count in
            loop.run(until: world.batchDeadline(count - 1))
            world.check(loop.statistics, fires: count)
            withExtendedLifetime(links) {}
        }
    }
}
