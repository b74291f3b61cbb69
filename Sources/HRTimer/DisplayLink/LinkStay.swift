#if os(Linux)
import HRTimerCore

/// A stay of a link in a loop. The handler of the link's timer holds it, and nothing else does.
final class LinkStay: Sendable {
    private let link: DisplayLink
    private let core: LoopCore
    /// Which of the link's stays this is.
    private let number: UInt
    /// An object that is to live as long as the loop has the link.
    private let holder: (any AnyObject & Sendable)?

    init(_ link: DisplayLink, in core: LoopCore, number: UInt, holder: (any AnyObject & Sendable)?) {
        self.link = link
        self.core = core
        self.number = number
        self.holder = holder
    }

    /// The loop has let go of the timer; it may have ended.
    deinit { link.hasLeft(number) }

    func fire() { link.fire(core.time.now_ns) }
}
#endif
