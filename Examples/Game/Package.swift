// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "Game",
    dependencies: [
        .package(name: "swift-hrtimer", path: "../.."),
        .package(path: "../Measured"),
    ],
    targets: [
        .systemLibrary(name: "CSDL2", pkgConfig: "sdl2", providers: [.apt(["libsdl2-dev"]), .yum(["SDL2-devel"])]),
        // What the game needs of SDL: a window, a picture, and the keys.
        .target(name: "CGame", dependencies: ["CSDL2"]),
        .executableTarget(
            name: "Game",
            dependencies: ["CGame", "Measured", .product(name: "HRTimer", package: "swift-hrtimer")]
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu17
)
