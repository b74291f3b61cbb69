// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// Tests/AsyncAlgorithms/run completes this package: it puts this file beside a checkout of swift-async-algorithms, with its
// sources, its tests as they are, and its tests on virtual time (`virtual/`). All in one package, since two of its modules are
// no products.
let availability: [SwiftSetting] = ["1.0", "1.1", "1.2", "1.3"].map {
    .enableExperimentalFeature("AvailabilityMacro=AsyncAlgorithms \($0):macOS 15.0")
}

let package = Package(
    name: "AsyncAlgorithmsOnHRTimer",
    dependencies: [
        .package(name: "swift-hrtimer", path: ".."),
        .package(url: "https://github.com/apple/swift-collections.git", from: "1.5.0"),
    ],
    targets: [
        .target(
            name: "AsyncAlgorithms",
            dependencies: [
                .product(name: "OrderedCollections", package: "swift-collections"),
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "checkout/Sources/AsyncAlgorithms",
            swiftSettings: availability
        ),
        .systemLibrary(
            name: "_CAsyncSequenceValidationSupport",
            path: "checkout/Sources/_CAsyncSequenceValidationSupport"
        ),
        .target(
            name: "AsyncSequenceValidation",
            dependencies: ["_CAsyncSequenceValidationSupport", "AsyncAlgorithms"],
            path: "validation",
            swiftSettings: availability
        ),
        .target(
            name: "AsyncAlgorithms_XCTest",
            dependencies: ["AsyncAlgorithms", "AsyncSequenceValidation"],
            path: "checkout/Sources/AsyncAlgorithms_XCTest",
            swiftSettings: availability
        ),
        .testTarget(
            name: "AsIs",
            dependencies: [
                "AsyncAlgorithms", "AsyncSequenceValidation", "AsyncAlgorithms_XCTest",
                .product(name: "HRTimerExecutorsAtLaunch", package: "swift-hrtimer"),
            ],
            path: "as-is",
            swiftSettings: availability
        ),
        // Our own tests: theirs have nothing on the main actor.
        .testTarget(
            name: "OnMainActor",
            dependencies: [
                .product(name: "HRTimer", package: "swift-hrtimer"),
                .product(name: "HRTimerExecutors", package: "swift-hrtimer"),
                .product(name: "HRTimerExecutorsAtLaunch", package: "swift-hrtimer"),
            ],
            path: "main-actor"
        ),
        .testTarget(
            name: "OnVirtualTime",
            dependencies: [
                "AsyncAlgorithms", "AsyncSequenceValidation", "AsyncAlgorithms_XCTest",
                .product(name: "HRTimer", package: "swift-hrtimer"),
                .product(name: "HRTimerTesting", package: "swift-hrtimer"),
            ],
            path: "virtual",
            swiftSettings: availability + [.swiftLanguageMode(.v5)]
        ),
    ]
)
