// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import HRTimer

/// `bench vsync`: the available displays, and how links follow them.
struct VsyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vsync",
        abstract: "Shows where a display's refreshes can be had, their told and true rate, and how links follow them.",
        discussion: """
            Each source that can be opened drives a display link for --seconds, after its rate was learnt. A Wayland \
            compositor is watched by a small window that is shown for so long.
            """
    )

    @Option(
        help: ArgumentHelp(
            "Sources to look for: virtual, wayland, x11, drm. Repeatable; by default all.",
            valueName: "source"
        ),
        transform: parseSource
    )
    var source: [VsyncSource.Kind] = []

    @Option(
        help: "How long each is measured, in seconds from 0.1 to 600, once its rate is known.",
        transform: decimal(0.1...600, "a number of seconds from 0.1 to 600")
    )
    var seconds: Double = 3

    @Option(help: "The virtual display's rate, as in 60, 59.94 or 60000/1001.", transform: parseFrameRate)
    var rate: FrameRate = .standard

    @OptionGroup var common: CommonOptions

    func run() throws {
        let outputs = try common.begin()
        let host = HostReport.now()
        let kinds = source.isEmpty ? VsyncSource.Kind.allCases : VsyncSource.Kind.allCases.filter(source.contains)
        let session = VsyncSession(kinds, rate: rate, seconds: seconds)
        session.run()
        let report = VsyncReport(session: session, host: host, command: CommandLine.arguments)
        try outputs.write(common.rendering(report))
        if session.wasInterrupted { throw ExitCode(130) }
    }
}

/// Parses the value of `--source`.
@Sendable
func parseSource(_ text: String) throws -> VsyncSource.Kind {
    guard let kind = VsyncSource.Kind(rawValue: text) else {
        throw ValidationError("it takes virtual, wayland, x11 or drm")
    }
    return kind
}

/// Parses the value of `--rate`.
@Sendable
func parseFrameRate(_ text: String) throws -> FrameRate {
    guard let rate = FrameRate(text), FrameRate.bounds.contains(rate.framesPerSecond) else {
        throw ValidationError("it takes refreshes a second, such as 60, 59.94 or 60000/1001")
    }
    return rate
}
