/// The requested formats of the results, and their colour.
struct ReportShape {
    let formats: Set<ReportFormat>
    let color: ColorChoice

    init(formats: [ReportFormat], color: ColorChoice) {
        self.formats = formats.isEmpty ? [.text] : Set(formats)
        self.color = color
    }

    func isColoured(_ output: ReportOutput) -> Bool {
        switch color {
        case .always: true
        case .never: false
        // https://no-color.org: set and not empty.
        case .auto: output.isTerminal && (environment("NO_COLOR") ?? "").isEmpty
        }
    }

    /// Returns how text is shown on the screen, or in a file.
    func view(isScreen: Bool, bars: BarScale = .linear) -> TextView {
        guard isScreen else { return TextView(isColoured: color == .always, bars: bars) }
        let width = Terminal.width
        return TextView(
            isColoured: isColoured(.standard()),
            width: width,
            bars: bars,
            endsInShort: width != nil
        )
    }
}

/// Writes the results in the requested formats to standard output and to the files.
func write(
    _ shape: ReportShape,
    to outputs: ReportOutputs,
    text: @escaping (_ isColoured: Bool) -> String,
    json: () -> String
) throws {
    try outputs.write(Rendering(name: "the result", json: json()) { text(shape.view(isScreen: $0).isColoured) })
}

/// Warns about a debug build, whose figures could be mistaken for the library's.
func announceDebugBuild() {
    if buildName == "debug" {
        StandardError.print("bench: DEBUG BUILD, its numbers mean little; run: swift run -c release bench")
    }
}

/// Returns a seed of 53 bits, which any JSON reader keeps exactly.
func newSeed() -> UInt64 { .random(in: 0..<1 << 53) }
