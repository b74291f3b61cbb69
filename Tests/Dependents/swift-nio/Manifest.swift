// SPDX-License-Identifier: Apache-2.0
// Of all tests those that try the site, and of the rest what they and the measurement need: more would take minutes to build.
let needed: [Target.Dependency] = ["NIOCore", "NIOPosix", "NIOEmbedded", "NIOConcurrencyHelpers"]
let kept: Set = [
    "NIOCore", "NIOPosix", "NIOEmbedded", "NIOConcurrencyHelpers", "_NIODataStructures", "_NIOBase64", "NIOPosixTests",
]
package.products = []
package.targets.removeAll { !kept.contains($0.name) && !$0.name.hasPrefix("CNIO") }
for target in package.targets where target.name == "NIOPosixTests" {
    target.sources = ["IdleStateHandlerTest.swift", "TestUtils.swift"]
    target.dependencies = needed
}
package.targets.append(.executableTarget(name: "Measure", dependencies: ["CMeasure", "NIOCore", "NIOPosix"]))
