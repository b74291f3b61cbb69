// SPDX-License-Identifier: Apache-2.0
import Foundation

extension Subject {
    /// Loops of other languages, each in its own program, which `make rivals` builds beside this one from
    /// Benchmarks/Rivals.
    static let children: [Subject] = [
        Subject("libuv.timer", "uv_timer_start for each deadline, in a child process", isDefault: false) {
            try measureByRival("rival-libuv", $0)
        },
        Subject("asio.steady-timer", "asio's steady_timer for each deadline, in a child process", isDefault: false) {
            try measureByRival("rival-asio", $0)
        },
    ]

    private static func measureByRival(_ name: String, _ recorder: BlockRecorder) throws {
        let program = URL(fileURLWithPath: try benchPath()).deletingLastPathComponent().appendingPathComponent(name)
            .path
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw MissingHardware(
                description: "there is no \(program): make rivals builds it (libuv1-dev, libasio-dev)"
            )
        }
        try recorder.fill(byProgram: program, recorder.plan)
    }
}

extension BlockRecorder {
    /// Lets another program fill the block: it receives the plan as options, and writes the block to its standard output.
    func fill(byProgram path: String, _ arguments: [String]) throws {
        let output = try outputOfChild([path] + arguments, errors: .inherited)
        guard output.status == 0, fill(from: output.data) else {
            throw BenchError("the child ended with \(output.status), and \(output.data.count) bytes")
        }
    }
}
