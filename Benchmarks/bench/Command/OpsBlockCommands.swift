import ArgumentParser
import Foundation

/// The process in which `bench ops` counts instructions, under valgrind.
struct OpsBlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "ops-block", shouldDisplay: false)

    @Argument var operation: String
    @Argument var rival: String
    @Argument var timers: Int
    @Argument var operations: UInt64

    func run() throws {
        try InstructionCounts.operate(operation, rival, timers: timers, operations: operations)
    }
}

/// The process in which `bench ops` measures memory.
struct MemoryBlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "memory-block", shouldDisplay: false)

    @Argument var rival: String
    @Argument var timers: Int

    func run() throws {
        guard let rival = CrowdRival.all.first(where: { $0.id == rival }) else { throw BenchError("no crowd \(rival)") }
        print(try MemoryOperations.bytesPerTimer(of: rival, timers: timers))
        // Exits without ending that many timers one by one.
        fflush(nil)
        _exit(0)
    }
}
