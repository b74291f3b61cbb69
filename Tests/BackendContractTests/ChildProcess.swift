// SPDX-License-Identifier: Apache-2.0
import CTestSupport

/// Sends a word from the child to the parent.
typealias Say = @Sendable (String) -> Void

private final class Body {
    let run: (@escaping Say) -> Void
    init(_ run: @escaping (@escaping Say) -> Void) { self.run = run }
}

/// Calls `body` in a child of fork(2), and returns the words that the child sends, one a line. The child has 30 s for each
/// word.
func inChild(_ body: @escaping (@escaping Say) -> Void) -> [String] {
    var text = [CChar](repeating: 0, count: 4096)
    let boxed = Body(body)
    let outcome = ctest_in_child(
        { context, fd in
            Unmanaged<Body>.fromOpaque(context!).takeUnretainedValue().run { ctest_say(fd, $0) }
        },
        Unmanaged.passUnretained(boxed).toOpaque(),
        30_000,
        &text,
        text.count
    )
    withExtendedLifetime(boxed) {}
    let said = text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    return said.split(separator: "\n").map(String.init) + (outcome == 0 ? [] : ["failed: \(outcome)"])
}
