// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// What becomes of the library with another Swift: the interface that may follow the one for executors, and programs for a library that
// was built without the experimental ones. A package of its own: `make future`.
let package = Package(
    name: "Future",
    dependencies: [.package(name: "swift-hrtimer", path: "../..", traits: [])],
    targets: [
        .target(name: "NextConcurrency"),
        .target(
            name: "Adapter",
            dependencies: ["NextConcurrency", .product(name: "HRTimer", package: "swift-hrtimer")]
        ),
        .executableTarget(
            name: "FutureProgram",
            dependencies: [
                .product(name: "HRTimer", package: "swift-hrtimer"),
                .product(name: "HRTimerTesting", package: "swift-hrtimer"),
                .product(name: "HRTimerExecutors", package: "swift-hrtimer"),
            ]
        ),
        .executableTarget(name: "NextProgram", dependencies: ["Adapter", "NextConcurrency"]),
    ],
    swiftLanguageModes: [.v6]
)
