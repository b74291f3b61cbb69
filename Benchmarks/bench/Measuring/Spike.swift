import CBench
import Dispatch
import Foundation
import Glibc
import HRTimer

/// What a block needs of --on-spike: from which lateness on, and the event file that wakes the waiting thread. Without one the block
/// ends with the spike.
struct SpikeBound: Sendable {
    let bound_ns: Int64
    let descriptor: CInt
}

/// What `--on-spike BOUND=CMD` asks for.
struct SpikeRequest: Sendable, Equatable {
    let bound_ns: Int64
    /// Nil for `stop`: the run ends with the first spike.
    let command: String?

    init(bound_ns: Int64, command: String?) {
        self.bound_ns = bound_ns
        self.command = command
    }
}

/// Runs the command of --on-spike as soon as a fire is later than the bound: beside the block, on a thread of its own, so that
/// the state of the machine can be saved while it is still there. One command at a time; a spike that comes while it runs is
/// counted and not reported to another.
final class SpikeWatch: Sendable {
    let request: SpikeRequest
    private let descriptor: CInt
    private let hasEnded = DispatchSemaphore(value: 0)
    private let runs = Locked(0)

    init(_ request: SpikeRequest) throws {
        self.request = request
        guard let command = request.command else {
            descriptor = -1
            return
        }
        descriptor = cbench_event_file()
        guard descriptor >= 0 else {
            throw BenchError("no eventfd for --on-spike: \(String(cString: strerror(-descriptor)))")
        }
        let watcher = Thread { [self] in
            watch(command)
            hasEnded.signal()
        }
        watcher.name = "bench-spike"
        watcher.start()
    }

    var bound: SpikeBound { SpikeBound(bound_ns: request.bound_ns, descriptor: descriptor) }

    /// How often the command was run, to its end.
    var commandsRun: Int { runs.withLock { $0 } }

    /// After the last block. Waits for a command that is running.
    func stop() {
        guard descriptor >= 0 else { return }
        var last = Self.theEnd
        _ = write(descriptor, &last, 8)
        hasEnded.wait()
        close(descriptor)
    }

    /// Larger than any number of spikes that is counted in one.
    private static let theEnd: UInt64 = 1 << 40

    private func watch(_ command: String) {
        while true {
            let spikes = next()
            let isSpike = spikes % Self.theEnd > 0
            if isSpike { run(command) }
            // What came while the command ran is over.
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let hasEnded = spikes >= Self.theEnd || Glibc.poll(&poll, 1, 0) > 0 && next() >= Self.theEnd
            if isSpike { runs.withLock { $0 += 1 } }
            if hasEnded { return }
        }
    }

    /// Waits for spikes, and returns how many there were; `theEnd` is added when there will be no more.
    private func next() -> UInt64 {
        var spikes: UInt64 = 0
        while true {
            let size = read(descriptor, &spikes, 8)
            if size == 8 { return spikes }
            if size >= 0 || errno != EINTR { return Self.theEnd }
        }
    }

    private func run(_ command: String) {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", command]
        var environment = ProcessInfo.processInfo.environment
        environment["BENCH_SPIKE_BOUND_NS"] = "\(request.bound_ns)"
        shell.environment = environment
        // Standard output is for results.
        shell.standardOutput = FileHandle.standardError
        shell.standardInput = FileHandle.nullDevice
        do {
            try shell.run()
            shell.waitUntilExit()
        } catch {
            StandardError.print("bench: --on-spike could not run '\(command)': \(error)")
        }
    }
}

/// What `--on-spike` takes.
@Sendable
func parseSpike(_ text: String) throws -> SpikeRequest {
    guard let sign = text.firstIndex(of: "=") else { throw SpikeRequest.usage }
    let command = String(text[text.index(after: sign)...])
    guard let bound_ns = nanoseconds(text[..<sign]), bound_ns > 0, !command.isEmpty else { throw SpikeRequest.usage }
    return SpikeRequest(bound_ns: bound_ns, command: command == "stop" ? nil : command)
}
