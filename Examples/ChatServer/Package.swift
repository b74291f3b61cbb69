// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "ChatServer",
    dependencies: [
        .package(name: "swift-hrtimer", path: "../.."),
        .package(path: "../Measured"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    ],
    targets: [
        // The clients: 50,000 people at their keyboards, in one thread of a process of its own.
        .target(name: "CClient", cSettings: [.define("_GNU_SOURCE")]),
        .executableTarget(
            name: "ChatServer",
            dependencies: [
                "CClient", "Measured",
                .product(name: "HRTimer", package: "swift-hrtimer"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu17
)
