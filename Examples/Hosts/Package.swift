// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// The library's loops inside the main loops of other libraries: a program to copy from for each, and tests that need Debian's
// libglib2.0-dev, libuv1-dev and libsdl2-dev. A package of its own, so that users of HRTimer do not need those.
let hrtimer = Target.Dependency.product(name: "HRTimer", package: "swift-hrtimer")
let package = Package(
    name: "Hosts",
    dependencies: [.package(name: "swift-hrtimer", path: "../..")],
    targets: [
        .systemLibrary(name: "CGLib", path: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .systemLibrary(name: "CUV", path: "CUV", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
        .systemLibrary(name: "CSDL", path: "CSDL", pkgConfig: "sdl2", providers: [.apt(["libsdl2-dev"])]),
        // A host like a game engine: frames, and its own poll(2) between them.
        .target(name: "CFrameLoop", path: "CFrameLoop", cSettings: [.define("_GNU_SOURCE")]),
        .executableTarget(name: "LoopInGLib", dependencies: [hrtimer, "CGLib"], path: "LoopInGLib"),
        .executableTarget(name: "LoopInLibuv", dependencies: [hrtimer, "CUV"], path: "LoopInLibuv"),
        .executableTarget(name: "LoopInSDL", dependencies: [hrtimer, "CSDL"], path: "LoopInSDL"),
        .executableTarget(name: "LoopInFrames", dependencies: [hrtimer, "CFrameLoop"], path: "LoopInFrames"),
        // Runs the scenarios that need a process's main thread, or a process of their own.
        .executableTarget(
            name: "HostProgram",
            dependencies: [hrtimer, "CGLib", "CUV", "CSDL", "CFrameLoop"],
            path: "HostProgram"
        ),
        .testTarget(name: "HostsTests", dependencies: ["HostProgram"], path: "HostsTests"),
    ],
    swiftLanguageModes: [.v6]
)
