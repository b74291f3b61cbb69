// swift-tools-version: 6.1
import PackageDescription

// What the programs beside it have in common: a file of what was measured, and its picture.
let package = Package(
    name: "Measured",
    products: [.library(name: "Measured", targets: ["Measured"])],
    targets: [.target(name: "Measured")],
    swiftLanguageModes: [.v6]
)
