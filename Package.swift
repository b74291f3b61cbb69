// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// What a user's program links. Each use of memory that Swift does not check is marked, and says why it is safe: `make size` counts.
let library = strict + [.strictMemorySafety()]

let package = Package(
    name: "swift-hrtimer",
    products: [
        .library(name: "HRTimer", targets: ["HRTimer"]),
        // Engines, clocks, sleeps and ticks alone: no library but the C library, no Foundation, no Dispatch. HRTimer exports it.
        .library(name: "HRTimerCore", targets: ["HRTimerCore"]),
        .library(name: "HRTimerTesting", targets: ["HRTimerTesting"]),
        .library(name: "HRTimerCompat", targets: ["HRTimerCompat"]),
        // Imports Foundation, which nothing else of the library does but for its essentials.
        .library(name: "HRTimerCalendar", targets: ["HRTimerCalendar"]),
        // On an experimental interface of the compiler's: nothing else of the library depends on it.
        .library(name: "HRTimerExecutors", targets: ["HRTimerExecutors"]),
        .library(name: "HRTimerExecutorsAtLaunch", targets: ["HRTimerExecutorsAtLaunch"]),
        .executable(name: "bench", targets: ["bench"]),
    ],
    traits: [
        .trait(name: "Libevent", description: "Loops wait in libevent; without it on an epoll set of their own"),
        .trait(name: "NIO", description: "SwiftNIO's timers among the rivals of the bench"),
        .trait(name: "ServiceLifecycle", description: "Engines, and periodic work, as services of a lifecycle"),
        .trait(name: "Metrics", description: "An engine's lateness and counts by way of swift-metrics"),
        .trait(name: "AsyncAlgorithms", description: "AsyncTimerSequence among the rivals of the bench"),
        .trait(name: "OpenCombine", description: "Engines, loops and virtual time as schedulers of OpenCombine"),
        .default(enabledTraits: ["Libevent"]),
    ],
    dependencies: [
        // Only the bench needs them; a package that depends on HRTimer alone never builds them.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        // Not even fetched without their traits.
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.0.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ],
    targets: [
        // Each target that calls libevent names its library to the linker itself: pkg-config may not be installed. Where it is, it finds
        // headers that are in a folder of their own.
        .systemLibrary(
            name: "CLibevent",
            path: "CSources/CLibevent",
            pkgConfig: "libevent_core",
            providers: [.apt(["libevent-dev"])]
        ),
        .target(
            name: "CHRTimer",
            path: "CSources/CHRTimer",
            cSettings: [
                .define("_GNU_SOURCE"),
                // What tests count.
                .define("HRT_CHECKING", .when(configuration: .debug)),
                .define("NDEBUG", .when(configuration: .release)),
            ]
        ),
        // What a loop waits in: alone uses libevent.
        .target(
            name: "CHRLoop",
            dependencies: ["CHRTimer", .target(name: "CLibevent", condition: .when(traits: ["Libevent"]))],
            path: "CSources/CHRLoop",
            cSettings: [
                .define("_GNU_SOURCE"),
                .define("HRT_LIBEVENT", .when(traits: ["Libevent"])),
                .define("HRT_CHECKING", .when(configuration: .debug)),
                .define("NDEBUG", .when(configuration: .release)),
            ],
            linkerSettings: [.linkedLibrary("event_core", .when(platforms: [.linux], traits: ["Libevent"]))]
        ),
        // Loads what it needs of X11 and Wayland when it runs.
        .target(name: "CVsync", path: "CSources/CVsync", cSettings: [.define("_GNU_SOURCE")]),
        // Asks RealtimeKit over D-Bus, whose library it loads when it runs.
        .target(
            name: "CRealtimeKit",
            dependencies: ["CHRTimer"],
            path: "CSources/CRealtimeKit",
            cSettings: [.define("_GNU_SOURCE")]
        ),
        // Cancels a part of a task, with the means of Swift's runtime.
        .target(name: "CTaskScope", path: "CSources/CTaskScope"),
        // Glibc, or Musl.
        .target(name: "HRTimerLibc", swiftSettings: library),
        .target(
            name: "HRTimerCore",
            dependencies: ["CHRTimer", "HRTimerLibc"],
            swiftSettings: library
        ),
        .target(
            name: "HRTimer",
            dependencies: [
                "HRTimerCore", "CHRTimer", "CHRLoop", "CVsync", "CTaskScope", "CRealtimeKit", "HRTimerLibc",
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "OpenCombine", package: "OpenCombine", condition: .when(traits: ["OpenCombine"])),
            ],
            swiftSettings: library
        ),
        // Tasks of a test on virtual time are caught where the runtime hands them out.
        .target(name: "CEnqueueHook", path: "CSources/CEnqueueHook"),
        .target(
            name: "HRTimerTesting",
            dependencies: [
                "HRTimer", "CEnqueueHook", "HRTimerLibc",
                .product(name: "OpenCombine", package: "OpenCombine", condition: .when(traits: ["OpenCombine"])),
            ],
            swiftSettings: library
        ),
        .target(name: "HRTimerCalendar", dependencies: ["HRTimer", "HRTimerCore"], swiftSettings: library),
        .target(name: "HRTimerCompat", dependencies: ["HRTimer"], swiftSettings: library),
        .target(
            name: "HRTimerExecutors",
            dependencies: ["HRTimer", "CHRTimer", "HRTimerLibc"],
            swiftSettings: library
        ),
        // For tests and for programs with an async main, which have no place for the call.
        .target(
            name: "HRTimerExecutorsAtLaunch",
            dependencies: ["HRTimerExecutors", "HRTimerLibc"],
            swiftSettings: library
        ),

        // A client of Wayland compositors, for the bench and for tests.
        .target(
            name: "CWaylandWindow",
            dependencies: ["CVsync"],
            path: "Tests/Windows/CWaylandWindow",
            cSettings: [.define("_GNU_SOURCE")]
        ),
        // A client of X servers, for examples and tests.
        .target(name: "CX11Window", path: "Tests/Windows/CX11Window", cSettings: [.define("_GNU_SOURCE")]),
        .target(
            name: "CBench",
            dependencies: ["CHRTimer", "CLibevent"],
            path: "Benchmarks/CBench",
            cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("event_core", .when(platforms: [.linux]))]
        ),
        // Random numbers that the bench and the tests have in common.
        .target(name: "Seeded", path: "Benchmarks/Seeded", swiftSettings: strict),
        .executableTarget(
            name: "bench",
            dependencies: [
                "HRTimer", "HRTimerCore", "HRTimerExecutors", "CHRTimer", "CBench", "CWaylandWindow", "Seeded",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(
                    name: "AsyncAlgorithms",
                    package: "swift-async-algorithms",
                    condition: .when(traits: ["AsyncAlgorithms"])
                ),
            ],
            path: "Benchmarks/bench",
            swiftSettings: strict
        ),
        // One operation of one face, as often as it is told, for valgrind: `make instructions`.
        .executableTarget(
            name: "CountedOperations",
            dependencies: ["HRTimer", "HRTimerTesting", "Seeded"],
            path: "Benchmarks/CountedOperations",
            swiftSettings: strict
        ),

        // A snippet can import nothing but the library; this one needs the kernel's header.
        .systemLibrary(name: "CEpoll", path: "Tests/CEpoll"),
        .executableTarget(
            name: "LoopInEpoll",
            dependencies: ["HRTimer", "CEpoll"],
            path: "Examples/LoopInEpoll",
            swiftSettings: strict
        ),

        // A package that uses everything from the main actor compiles without a warning.
        .executableTarget(
            name: "MainActorClient",
            dependencies: ["HRTimer"],
            path: "Examples/MainActorClient"
        ),

        // Keys beside frames, on windows of C libraries.
        .executableTarget(
            name: "InputOnX11",
            dependencies: ["HRTimer", "CX11Window"],
            path: "Examples/InputOnX11",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "InputOnWayland",
            dependencies: ["HRTimer", "CWaylandWindow"],
            path: "Examples/InputOnWayland",
            swiftSettings: strict
        ),

        // With the traits of their names; `make ecosystem` builds and runs them too.
        .executableTarget(
            name: "PeriodicWork",
            dependencies: [
                "HRTimer", "HRTimerCalendar",
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["ServiceLifecycle"])),
            ],
            path: "Examples/PeriodicWork",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "SearchField",
            dependencies: [
                "HRTimer",
                .product(name: "OpenCombine", package: "OpenCombine", condition: .when(traits: ["OpenCombine"])),
            ],
            path: "Examples/SearchField",
            swiftSettings: strict
        ),

        // Programs of their own for what only a process's main thread can show.
        .target(
            name: "MainThreadScenario",
            dependencies: ["HRTimer", "CHRTimer"],
            path: "Tests/Programs/MainThreadScenario",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "MainThreadProgram",
            dependencies: ["HRTimer", "CHRTimer", "MainThreadScenario"],
            path: "Tests/Programs/MainThreadProgram",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "AsyncMainProgram",
            dependencies: ["HRTimer", "HRTimerCore", "MainThreadScenario"],
            path: "Tests/Programs/AsyncMainProgram",
            swiftSettings: strict
        ),
        .target(
            name: "DeadlineModel",
            dependencies: ["HRTimer", "Seeded"],
            path: "Tests/Programs/DeadlineModel",
            swiftSettings: strict
        ),
        // All threads of the process's pool are blocked in it.
        .executableTarget(
            name: "BlockedPoolProgram",
            dependencies: ["HRTimerExecutors", "HRTimer", "HRTimerCore"],
            path: "Tests/Programs/BlockedPoolProgram",
            swiftSettings: strict
        ),
        // All faces, where little is to be had.
        .executableTarget(
            name: "PlatformProgram",
            dependencies: ["HRTimer", "CHRTimer", "CTestSupport"],
            path: "Tests/Programs/PlatformProgram",
            swiftSettings: strict
        ),
        // Cancelled sleeps by the million, optimized: `make sleep-races`.
        .executableTarget(
            name: "SleepRaces",
            dependencies: ["HRTimer", "DeadlineModel"],
            path: "Tests/Programs/SleepRaces",
            swiftSettings: strict
        ),
        // Seven files of apps against Apple's names, and the same with changed imports. As most of such files are, in Swift 5's mode.
        .executableTarget(
            name: "AppsOnApple",
            path: "Tests/Programs/AppsOnApple",
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        .executableTarget(
            name: "AppsOnHRTimer",
            dependencies: ["HRTimerCompat"],
            path: "Tests/Programs/AppsOnHRTimer",
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        .target(
            name: "TestSupport",
            dependencies: ["HRTimerCore", "Seeded"],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        // Apart, for it imports Testing, which the tests' programs do without.
        .target(name: "TestTraits", dependencies: ["TestSupport"], path: "Tests/TestTraits", swiftSettings: strict),
        // Ptrace, and signals by the thousand: what Swift cannot do to itself.
        .target(
            name: "CTestSupport",
            dependencies: ["CLibevent", "CHRTimer", "CHRLoop"],
            path: "Tests/CTestSupport",
            cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("event_core", .when(platforms: [.linux]))]
        ),
        .testTarget(
            name: "CHRTimerTests",
            dependencies: ["CHRTimer", "CTestSupport", "TestSupport", "TestTraits"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HRTimerCoreTests",
            dependencies: ["HRTimerCore", "CHRTimer", "HRTimerTesting", "TestSupport", "TestTraits"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HRTimerTests",
            dependencies: [
                "HRTimer", "CHRTimer", "CVsync", "HRTimerTesting", "CTestSupport", "TestSupport", "TestTraits",
                "DeadlineModel",
            ],
            swiftSettings: strict
        ),
        // Display servers in processes of their own.
        .testTarget(
            name: "VsyncTests",
            dependencies: [
                "HRTimer", "CHRTimer", "CVsync", "CWaylandWindow", "CX11Window", "CTestSupport", "TestSupport",
                "TestTraits",
            ],
            swiftSettings: strict
        ),
        // Its executors are the process's: tests run it in processes of its own.
        .executableTarget(
            name: "ExecutorsProgram",
            dependencies: ["HRTimerExecutors", "HRTimer", "HRTimerTesting", "CHRTimer", "TestSupport"],
            path: "Tests/ExecutorsProgram",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "AtLaunchProgram",
            dependencies: ["HRTimerExecutorsAtLaunch", "HRTimerExecutors", "HRTimer"],
            path: "Tests/Programs/AtLaunchProgram",
            swiftSettings: strict
        ),
        .testTarget(
            name: "HRTimerExecutorsTests",
            // Not AtLaunchProgram, which it runs too: what that links would install itself in the process of all tests.
            dependencies: ["ExecutorsProgram", "TestSupport", "TestTraits"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HRTimerTestingTests",
            dependencies: ["HRTimer", "HRTimerTesting", "TestSupport", "TestTraits"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HRTimerCalendarTests",
            dependencies: [
                "HRTimerCalendar", "HRTimer", "HRTimerCore", "HRTimerTesting", "TestSupport", "TestTraits", "Seeded",
            ],
            swiftSettings: strict
        ),
        // Without MemberImportVisibility, like the code that is ported by scoped imports.
        .testTarget(name: "HRTimerCompatTests", dependencies: ["HRTimerCompat", "TestTraits"]),
        // The files that are ported there, with Foundation's and Dispatch's own timers: a link to their folder.
        .testTarget(name: "PeersTests", dependencies: ["TestTraits"], swiftSettings: [.define("PEERS")]),
        .testTarget(
            name: "BackendContractTests",
            // CBench for its count of allocations, which an executable can have but once.
            dependencies: [
                "HRTimer", "HRTimerCalendar", "CHRTimer", "CHRLoop", "CBench", "CTestSupport", "TestSupport",
                "MainThreadProgram",
                "AsyncMainProgram", "AppsOnApple", "AppsOnHRTimer", "BlockedPoolProgram", "PlatformProgram",
                "TestTraits",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "DefaultIsolationTests",
            dependencies: ["HRTimer", "TestSupport", "TestTraits"],
            // As Xcode's new apps are compiled.
            swiftSettings: strict + [.defaultIsolation(MainActor.self)]
        ),
        .testTarget(
            name: "PrecisionTests",
            dependencies: ["HRTimer", "CHRTimer", "CTestSupport", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(name: "NameProbe", dependencies: ["HRTimer"], swiftSettings: strict),
        .testTarget(
            name: "BenchTests",
            dependencies: ["bench", "CBench", "HRTimer", "HRTimerCore"],
            exclude: ["Golden"],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu17
)
