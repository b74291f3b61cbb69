// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Foundation
import HRTimer
import TestSupport
import Testing

/// Probes for perf, bpftrace and SystemTap, in the running test program.
@Suite struct ProbeTests {
    @Test(
        "readelf finds all seven probes, each with its arguments, in a program that was built with <sys/sdt.h>",
        .enabled(if: HRT_HAS_PROBES != 0, "<sys/sdt.h> was not there: Debian's systemtap-sdt-dev")
    )
    func notes() throws {
        let text = try Self.notes()
        for (name, arguments) in [
            ("arm", 2), ("expire", 3), ("commit", 2), ("fire", 3), ("late", 3), ("park", 2), ("wake", 2),
        ] {
            let blocks = text.components(separatedBy: "Provider: hrtimer").dropFirst()
                .filter { $0.contains("Name: \(name)\n") }
            #expect(!blocks.isEmpty, "hrtimer:\(name)")
            let places = blocks.first?.components(separatedBy: "Arguments: ").last?.split(separator: "\n").first ?? ""
            #expect(places.split(separator: " ").count == arguments, "hrtimer:\(name): \(places)")
        }
    }

    @Test("A program that was built without <sys/sdt.h> has no probes", .enabled(if: HRT_HAS_PROBES == 0))
    func none() throws {
        #expect(!(try Self.notes()).contains("Provider: hrtimer"))
    }

    private static func notes() throws -> String {
        let readelf = Process()
        readelf.executableURL = URL(fileURLWithPath: "/usr/bin/readelf")
        readelf.arguments = [
            "-n", "--wide", try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
        ]
        let pipe = Pipe()
        readelf.standardOutput = pipe
        readelf.standardError = FileHandle.nullDevice
        try readelf.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        readelf.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
