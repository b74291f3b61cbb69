// SPDX-License-Identifier: Apache-2.0
import CReceiver
import Glibc
import Synchronization

/// Receives a piece on a thread of its own, and notes when each clock message came.
final class Receiver: Sendable {
    let port: UInt16
    private let descriptor: Int32
    private let stamps = Mutex<[Int64]>([])
    private let thread = Mutex<pthread_t?>(nil)

    init() {
        var port = UInt16(0)
        descriptor = receiver_open(&port)
        guard descriptor >= 0 else { fatalError("no socket: \(String(cString: strerror(errno)))") }
        self.port = port
    }

    func begin() {
        let me = Unmanaged.passRetained(self)
        var created = pthread_t()
        pthread_create(
            &created,
            nil,
            { argument in
                Unmanaged<Receiver>.fromOpaque(argument!).takeRetainedValue().receive()
                return nil
            },
            me.toOpaque()
        )
        thread.withLock { $0 = created }
    }

    private func receive() {
        var stamp_ns = Int64(0)
        while true {
            switch receiver_read(descriptor, &stamp_ns) {
            case Int32(MIDI.clock): stamps.withLock { $0.append(stamp_ns) }
            case Int32(MIDI.stop), -1: return
            default: continue
            }
        }
    }

    /// Waits for the end of the piece. Returns the time stamps of its clocks.
    func end() -> [Int64] {
        if let thread = thread.withLock({ $0 }) { pthread_join(thread, nil) }
        close(descriptor)
        return stamps.withLock { $0 }
    }
}

extension Tempo {
    /// Returns how far each interval is from that of its tempo, and how much longer the whole piece took than it should.
    func jitter(of stamps: [Int64]) -> (samples_ns: [Int64], drift_ns: Int64) {
        guard stamps.count == total else { fatalError("\(stamps.count) clocks of \(total) were received") }
        var samples: [Int64] = []
        var (index, drift_ns) = (0, Int64(0))
        for part in beatsPerMinute.indices {
            let nominal_ns = Int64(interval(part) / .nanoseconds(1))
            let end = index + clocks(part)
            for clock in index + 1..<end { samples.append(abs(stamps[clock] - stamps[clock - 1] - nominal_ns)) }
            drift_ns += stamps[end - 1] - stamps[index] - nominal_ns * Int64(clocks(part) - 1)
            index = end
        }
        return (samples, drift_ns)
    }
}
