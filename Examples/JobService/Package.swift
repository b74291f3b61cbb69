// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "JobService",
    dependencies: [
        .package(name: "swift-hrtimer", path: "../..", traits: ["ServiceLifecycle"]),
        .package(path: "../Measured"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: [
        .executableTarget(
            name: "JobService",
            dependencies: [
                "Measured",
                .product(name: "HRTimer", package: "swift-hrtimer"),
                .product(name: "HRTimerExecutors", package: "swift-hrtimer"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
