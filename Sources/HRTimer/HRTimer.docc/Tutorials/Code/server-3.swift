import Glibc
import HRTimer

/// A socket that listens on a free port of this machine, and the port.
func listeningSocket() -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutableBytes(of: &address) { bytes in
        let pointer = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
        guard bind(descriptor, pointer, length) == 0, listen(descriptor, 128) == 0
        else { fatalError("no port") }
        getsockname(descriptor, pointer, &length)
    }
    return (descriptor, address.sin_port.bigEndian)
}

@MainActor final class Connection {
    private let descriptor: Int32
    private var source: LoopSource?
    private var idle: IdleTimeout?

    init(_ descriptor: Int32) throws {
        self.descriptor = descriptor
        let source = try LoopSource(descriptor: descriptor) { [weak self] _, _ in
            self?.read()
        }
        try TimerLoop.main.add(source, forMode: .default)
        self.source = source
        idle = IdleTimeout(.milliseconds(300)) { [weak self] in
            guard let self else { return }
            TimerLoop.performOnMain { self.close("silent for 300 ms") }
        }
    }

    private func read() {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        if count > 0 {
            _ = write(descriptor, bytes, count)
        } else {
            close("the client left")
        }
    }

    func close(_ reason: String) {
        guard let source else { return }
        self.source = nil
        source.invalidate()
        idle?.cancel()
        connections[descriptor] = nil
        Glibc.close(descriptor)
        print("closed: \(reason)")
    }
}

/// The open connections by their descriptors.
var connections: [Int32: Connection] = [:]

let server = listeningSocket()
let listener = try LoopSource(descriptor: server.descriptor) { _, _ in
    let descriptor = accept(server.descriptor, nil, nil)
    if let connection = try? Connection(descriptor) {
        connections[descriptor] = connection
    }
}
try TimerLoop.main.add(listener, forMode: .default)
print("listening on port \(server.port)")
TimerLoop.main.run(for: 0.1)
