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
}

/// Writes the shapes wanted, to the file if there is one; beside text, the file is the JSON's.
func write(
    _ shape: ReportShape,
    to file: ReportOutput?,
    text: (_ isColoured: Bool) -> String,
    json: () -> String
) throws {
    let standard = ReportOutput.standard()
    if shape.formats.contains(.text) {
        let output = shape.formats.count == 1 ? file ?? standard : standard
        try output.write(text(shape.isColoured(output)))
    }
    if shape.formats.contains(.json) { try (file ?? standard).write(json()) }
}

/// Numbers of a debug build are easily taken for ours.
func announceDebugBuild() {
    if buildName == "debug" {
        StandardError.print("bench: DEBUG BUILD, its numbers mean little; run: swift run -c release bench")
    }
}

/// 53 bits: what any reader of JSON keeps.
func newSeed() -> UInt64 { .random(in: 0..<1 << 53) }
