import ArgumentParser
import HRTimer

/// The options of `bench run` about what made fires late.
struct WhyOptions: ParsableArguments {
    @Flag(help: "Show what the latest fires of each subject were late by. Reads the kernel's counts after each fire.")
    var why = false

    @Option(
        name: .customLong("why-beyond"),
        help: ArgumentHelp(
            "With --why: fires later than this, as in 200us, in place of the latest 5 per cent.",
            valueName: "bound"
        ),
        transform: time(0...Int64.max, "such as 200us or 1ms")
    )
    var beyond: Int64?

    @Option(
        help: ArgumentHelp(
            "Write what engines, loops and subjects did last to this file, which ui.perfetto.dev opens (bench report --trace).",
            valueName: "file"
        )
    )
    var trace: String?

    func validate() throws {
        if beyond != nil, !why { throw ValidationError("--why-beyond takes --why with it") }
    }

    /// Returns nil without `--why` and `--trace`.
    func run() throws -> WhyRun? {
        guard why || trace != nil else { return nil }
        return WhyRun(explains: why, bound_ns: beyond, isTraced: trace != nil)
    }
}
