// SPDX-License-Identifier: Apache-2.0
import Glibc
import Measured

/// A client that sends requests on one connection, and measures how long each answer takes.
struct Client {
    private let descriptor: Int32

    init(port: Int) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = UInt16(port).bigEndian
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
        let status = withUnsafeBytes(of: &address) { bytes in
            connect(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard status == 0 else { fatalError("no server: \(String(cString: strerror(errno)))") }
    }

    /// Sends a request. Returns how long the answer took, in ns.
    func get(_ path: String) -> Int64 {
        let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        let begin_ns = monotonic_ns
        guard write(descriptor, request, request.count) == request.count else { fatalError("the server has closed") }
        var bytes = [UInt8](repeating: 0, count: 4096), text = ""
        // This server's answer comes in one piece or two. Its body ends with the only line feed without a carriage return.
        repeat {
            let count = read(descriptor, &bytes, bytes.count)
            guard count > 0 else { fatalError("the server has closed") }
            text += String(decoding: bytes[..<count], as: UTF8.self)
        } while !(text.contains("\r\n\r\n") && text.hasSuffix("\n") && !text.hasSuffix("\r\n"))
        guard text.hasPrefix("HTTP/1.1 200") else { fatalError(text) }
        return monotonic_ns - begin_ns
    }
}
