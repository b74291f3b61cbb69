// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "MIDIClock",
    dependencies: [
        .package(name: "swift-hrtimer", path: "../.."),
        .package(path: "../Measured"),
    ],
    targets: [
        // Reads when the kernel received a datagram: from control messages, which Swift cannot read.
        .target(name: "CReceiver", cSettings: [.define("_GNU_SOURCE")]),
        .executableTarget(
            name: "MIDIClock",
            dependencies: ["CReceiver", "Measured", .product(name: "HRTimer", package: "swift-hrtimer")]
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu17
)
