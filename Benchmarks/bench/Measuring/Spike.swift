import CBench
import Dispatch
import Foundation
import Glibc
import HRTimer

/// The bound of --on-spike for a block: the lateness, and the event file that wakes the waiting thread. If the descriptor
/// is -1, the block ends with the spike.
struct SpikeBound: Sendable {
    let bound_ns: Int64
    let descriptor: CInt
}

/// The request of `--on-spike BOUND=CMD`.
struct SpikeRequest: Sendable, Equatable {
    let bound_ns: Int64
    /// The shell's command; nil for `stop`, where the run ends with the first spike.
    let command: String?

    init(bound_ns: Int64, command: String?) {
        self.bound_ns = bound_ns
        self.command = command
    }
}

/// Runs the command of --on-spike as soon as a fire is later than the bound. The command runs beside the block, started by
/// a separate thread, so that it can save the state of the machine in time. One command runs at a time; spikes that come
/// while it runs are counted, but start no other command.
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

    /// How many commands have run to their end.
    var commandsRun: Int { runs.withLock { $0 } }

    /// Must be called after the last block. Waits for a command that is running.
    func stop() {
        guard descriptor >= 0 else { return }
        var last = Self.theEnd
        _ = write(descriptor, &last, 8)
        hasEnded.wait()
        close(descriptor)
    }

    /// A value for the end, larger than any number of spikes that one read returns.
    private static let theEnd: UInt64 = 1 << 40

    private func watch(_ command: String) {
        while true {
            let spikes = next()
            let isSpike = spikes % Self.theEnd > 0
            if isSpike { run(command) }
            // Spikes that came while the command ran are discarded.
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let hasEnded = spikes >= Self.theEnd || Glibc.poll(&poll, 1, 0) > 0 && next() >= Self.theEnd
            if isSpike { runs.withLock { $0 += 1 } }
            if hasEnded { return }
        }
    }

    /// Waits for spikes, and returns their number; `theEnd` is added when no more will come.
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

/// Parses the value of `--on-spike`.
@Sendable
func parseSpike(_ text: String) throws -> SpikeRequest {
    guard let sign = text.firstIndex(of: "=") else { throw SpikeRequest.usage }
    let command = String(text[text.index(after: sign)...])
    guard let bound_ns = nanoseconds(text[..<sign]), bound_ns > 0, !command.isEmpty else { throw SpikeRequest.usage }
    return SpikeRequest(bound_ns: bound_ns, command: command == "stop" ? nil : command)
}
