// SPDX-License-Identifier: Apache-2.0
import Foundation

/// What a program left that has ended.
struct ChildOutput {
    let status: Int32
    let data: Data

    var text: String { String(decoding: data, as: UTF8.self) }
}

/// Where a child's standard error goes.
enum ChildErrors {
    case inherited, discarded
    /// Into its output.
    case kept
}

/// Runs a program to its end, with nothing on its standard input. Its output includes its standard error if not told
/// otherwise.
func outputOfChild(_ arguments: [String], errors: ChildErrors = .kept) throws -> ChildOutput {
    let child = Process()
    child.executableURL = URL(fileURLWithPath: arguments[0])
    child.arguments = Array(arguments.dropFirst())
    let output = Pipe()
    child.standardOutput = output
    switch errors {
    case .inherited: break
    case .discarded: child.standardError = FileHandle.nullDevice
    case .kept: child.standardError = output
    }
    child.standardInput = FileHandle.nullDevice
    try child.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    child.waitUntilExit()
    return ChildOutput(status: child.terminationStatus, data: data)
}
