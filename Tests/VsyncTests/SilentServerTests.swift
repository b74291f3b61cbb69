// SPDX-License-Identifier: Apache-2.0
import CTestSupport
import CVsync
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite(
    .serialized,
    .ownThread,
    .enabled(if: hasXCB, "libxcb-present is not installed: apt-get install libxcb-present0")
)
struct SilentServerTests {
    /// Listens as the X server of that number, and never answers.
    private static func listen(as number: Int) -> Int32 {
        let path = [0] + "/tmp/.X11-unix/X\(number)".utf8
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let bytes = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(fd, $0, bytes) }
        }
        return status == 0 && Glibc.listen(fd, 4) == 0 ? fd : -1
    }

    @Test("Waiting for a server that does not answer times out, however many signals come", .hangLimit)
    func signals() async {
        // In a process of its own, since a signal handler belongs to the whole process.
        await #expect(processExitsWith: .success) {
            let number = 20_000 + Int(getpid() % 10_000)
            #expect(Self.listen(as: number) >= 0)
            var storm = ctest_storm()
            // With a sanitizer each signal takes so long that nothing else would run.
            #expect(ctest_storm_begin(isSanitized ? 200 : 5000, &storm) == 0)
            var source: OpaquePointer?
            var failure: UnsafePointer<CChar>?
            #expect(vs_x11_open(":\(number)", 0, 0, 200, &source, &failure) == -ETIMEDOUT)
            #expect(ctest_storm_end(storm) > 0)
        }
    }
}
