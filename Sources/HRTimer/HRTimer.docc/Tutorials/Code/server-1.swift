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

let server = listeningSocket()
let listener = try LoopSource(descriptor: server.descriptor) { _, _ in
    let descriptor = accept(server.descriptor, nil, nil)
    print("connected")
    close(descriptor)
}
try TimerLoop.main.add(listener, forMode: .default)
print("listening on port \(server.port)")
TimerLoop.main.run(for: 0.1)
