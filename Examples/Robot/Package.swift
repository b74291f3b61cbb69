// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "Robot",
    dependencies: [
        .package(name: "swift-hrtimer", path: "../.."),
        .package(path: "../Measured"),
    ],
    targets: [
        .executableTarget(
            name: "Robot",
            dependencies: ["Measured", .product(name: "HRTimer", package: "swift-hrtimer")]
        )
    ],
    swiftLanguageModes: [.v6],
)
