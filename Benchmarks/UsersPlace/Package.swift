// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// What a fire costs a user, whose handler is in a package of its own. HRTIMER is the checkout to be measured; without it, this one.
let package = Package(
    name: "users-place",
    dependencies: [.package(name: "swift-hrtimer", path: Context.environment["HRTIMER"] ?? "../..")],
    targets: [.executableTarget(name: "fires", dependencies: [.product(name: "HRTimer", package: "swift-hrtimer")])]
)
