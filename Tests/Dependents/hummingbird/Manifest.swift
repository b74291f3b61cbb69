// SPDX-License-Identifier: Apache-2.0
package.targets.append(
    .executableTarget(name: "Measure", dependencies: ["CMeasure", "Hummingbird"], swiftSettings: swiftSettings)
)
