// SPDX-License-Identifier: Apache-2.0
import TestSupport
package import Testing

extension Trait where Self == TimeLimitTrait {
    /// For a test that a fault may keep waiting for ever. Five minutes, not two: beside all others a test in the pool of threads
    /// waits a minute and a half for its turns, on a busy machine longer. A sanitized build takes up to twenty times as long.
    package static var hangLimit: Self { .timeLimit(.minutes(isSanitized ? 15 : 5)) }
}
