// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

// The call itself, which engines and loops make once nobody can withdraw the fire.
extension Fire {
    /// Calls the handler. First spins to the deadline if that is ahead of `now_ns`, the clock's last reading: by `lastSpin_ns`
    /// at most, or by more if the clock was set back since. Must be called without the lock held.
    package mutating func deliver(_ now_ns: Int64, on time: TimeBase, _ observer: (any FireObserver)?) {
        spinOut(now_ns, time)
        observer?.willCall(self)
        call()
        observer?.didCall(self)
    }

    private mutating func call() {
        if target != nil { hrt_probe_fire(token.slot, deadline_ns, called_ns) }
        switch target {
        case .handler(let handler): handler(described(called_ns))
        case .owner(let owner):
            if let function { function.call(owner) } else { callback?.run() }
            // Released here, without the lock: the owner may have another handler by now.
            function = nil
            callback = nil
        case nil:
            // A tick that was left out; its owner may tell somebody.
            callback?.run()
            callback = nil
        }
    }

    /// Spins for the last part of the wait.
    private mutating func spinOut(_ now_ns: Int64, _ time: TimeBase) {
        called_ns = now_ns
        guard isBeforeDeadline, !isEarly, place_ns > now_ns else { return }
        called_ns = time.spin(until: place_ns, from: now_ns).now_ns
    }

    /// How long before its deadline a call is committed if a thread spins up to the deadline. From then on it cannot be
    /// withdrawn.
    package static var lastSpin_ns: Int64 { 4_000 }
}
#endif
