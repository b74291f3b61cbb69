// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Does one operation of one face so many times, on frozen time and on one thread, so that valgrind counts the same
/// instructions in each run: `CountedOperations FACE OPERATION COUNT`. Without arguments it lists the operations.
/// `make instructions` runs it with two counts. Their difference is the cost of the operations, without that of the rest.
@main
struct Program {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.isEmpty {
            for operation in operations { print(operation.face, operation.name) }
            return
        }
        guard arguments.count == 3, let count = Int(arguments[3]), CountedOperation.counts.contains(count) else {
            print("usage: CountedOperations FACE OPERATION COUNT; a COUNT is in \(CountedOperation.counts)")
            exit(64)
        }
        guard let operation = operations.first(where: { $0.face == arguments[1] && $0.name == arguments[2] }) else {
            print("no operation \(arguments[2]) of \(arguments[1])")
            exit(64)
        }
        let run = try operation.prepare(FrozenWorld())
        run(count)
        // Never ends: to free what is left would cost less after more operations.
        withExtendedLifetime(run) { exit(0) }
    }

    private static let operations =
        EngineOperations.all + SourceOperations.all + LoopOperations.timers + IdleTimeoutOperations.all
        + SleepOperations.all + [LoopOperations.displayLink]
}
