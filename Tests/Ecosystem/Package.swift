// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// Tests of other packages on our clocks, and of ours with theirs. A package of its own, so that nobody who uses HRTimer fetches
// them.
let package = Package(
    name: "Ecosystem",
    dependencies: [
        .package(
            name: "swift-hrtimer",
            path: "../..",
            traits: [.defaults, "ServiceLifecycle", "Metrics", "OpenCombine"]
        ),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.5.0"),
    ],
    targets: [
        // Symbolic links to Examples, where they are programs of the library's package without these traits.
        .executableTarget(
            name: "PeriodicWork",
            dependencies: [
                .product(name: "HRTimer", package: "swift-hrtimer"),
                .product(name: "HRTimerCalendar", package: "swift-hrtimer"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .executableTarget(
            name: "SearchField",
            dependencies: [
                .product(name: "HRTimer", package: "swift-hrtimer"),
                .product(name: "OpenCombine", package: "OpenCombine"),
            ]
        ),
        // Links to Tests/Future: the interface that may follow the one for executors, and our adapter to it.
        .target(name: "NextConcurrency"),
        .target(
            name: "Adapter",
            dependencies: ["NextConcurrency", .product(name: "HRTimer", package: "swift-hrtimer")]
        ),
        .executableTarget(name: "NextProgram", dependencies: ["Adapter", "NextConcurrency"]),
        .testTarget(
            name: "EcosystemTests",
            dependencies: [
                .product(name: "HRTimer", package: "swift-hrtimer"),
                .product(name: "HRTimerTesting", package: "swift-hrtimer"),
                .product(name: "HRTimerCalendar", package: "swift-hrtimer"),
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
