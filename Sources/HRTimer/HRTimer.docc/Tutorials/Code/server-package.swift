// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Server",
    dependencies: [
        .package(url: "https://example.com/swift-hrtimer", branch: "main")
    ],
    targets: [
        .executableTarget(
            name: "Server",
            dependencies: [.product(name: "HRTimer", package: "swift-hrtimer")]
        )
    ]
)
