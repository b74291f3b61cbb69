import TestSupport
package import Testing

extension Trait where Self == TimeLimitTrait {
    /// For a test that a fault may keep waiting for ever: two minutes, which no such test needs on a busy machine either. A
    /// sanitized build takes up to twenty times as long.
    package static var hangLimit: Self { .timeLimit(.minutes(isSanitized ? 15 : 2)) }
}
