// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// The common part of the programs beside this package: the file of results, and its picture.
let package = Package(
    name: "Measured",
    products: [.library(name: "Measured", targets: ["Measured"])],
    targets: [.target(name: "Measured")],
    swiftLanguageModes: [.v6]
)
