/// In which shapes results are wanted.
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

    /// How text is shown on the screen, or in a file.
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

/// Writes the shapes wanted to standard output and to the files.
func write(
    _ shape: ReportShape,
    to outputs: ReportOutputs,
    text: @escaping (_ isColoured: Bool) -> String,
    json: () -> String
) throws {
    try outputs.write(Rendering(name: "the result", json: json()) { text(shape.view(isScreen: $0).isColoured) })
}

/// Numbers of a debug build are easily taken for ours.
func announceDebugBuild() {
    if buildName == "debug" {
        StandardError.print("bench: DEBUG BUILD, its numbers mean little; run: swift run -c release bench")
    }
}

/// 53 bits: what any reader of JSON keeps.
func newSeed() -> UInt64 { .random(in: 0..<1 << 53) }
