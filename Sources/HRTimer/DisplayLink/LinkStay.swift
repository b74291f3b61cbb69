#if os(Linux)
import HRTimerCore

/// One stay of a link in a loop. Only the handler of the link's timer holds a reference to it.
final class LinkStay: Sendable {
    private let link: DisplayLink
    private let core: LoopCore
    /// The number of this stay among all stays of the link.
    private let number: UInt
    /// An object that must live as long as the loop has the link.
    private let holder: (any AnyObject & Sendable)?

    init(_ link: DisplayLink, in core: LoopCore, number: UInt, holder: (any AnyObject & Sendable)?) {
        self.link = link
        self.core = core
        self.number = number
        self.holder = holder
    }

    /// Tells the link that the loop has released its timer; the loop may have ended.
    deinit { link.hasLeft(number) }

    func fire() { link.fire(core.time.now_ns) }
}
#endif
