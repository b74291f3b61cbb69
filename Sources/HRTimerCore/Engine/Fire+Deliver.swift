#if os(Linux)
import CHRTimer

// The call itself, which engines and loops make once nobody can withdraw the fire.
extension Fire {
    /// Calls the handler. First spins to the deadline if that is ahead of `now_ns`, the clock's last reading: by `lastSpin_ns`
    /// at most, or by more if the clock was set back since; `time` may be nil for a fire that is not before its deadline. Must
    /// be called without the lock held.
    package mutating func deliver(_ now_ns: Int64, on time: TimeBase?) {
        // Moved out rather than copied, so that no reference count changes.
        let target = self.target.take()
        switch target {
        case .handler(let handler):
            spinOut(now_ns, time)
            handler(described(called_ns))
        case .owner(let owner): call(owner, now_ns, time)
        case nil: break
        }
        fill(&self.target, consume target)
    }

    /// Calls the function or the block that the owner has prepared, and releases it at once, unless the owner takes it back: the
    /// owner may have another handler by now.
    @inline(__always)
    private mutating func call(_ owner: AnyObject, _ now_ns: Int64, _ time: TimeBase?) {
        if function != nil {
            let call = moveOut(&function).call
            spinOut(now_ns, time)
            if isLent {
                callAndKeep(call, owner)
            } else {
                call(owner)
            }
        } else if callback != nil {
            let run = moveOut(&callback).run
            spinOut(now_ns, time)
            if isLent {
                callAndKeep(run)
            } else {
                run()
            }
        }
    }

    /// Calls a function and moves it back. Apart, with the function as its own: otherwise the compiler counts a reference.
    @inline(__always)
    private mutating func callAndKeep(_ run: __owned @escaping @Sendable () -> Void) {
        run()
        fill(&callback, Callback(run))
    }

    @inline(__always)
    private mutating func callAndKeep(_ call: __owned @escaping @Sendable (AnyObject) -> Void, _ owner: AnyObject) {
        call(owner)
        fill(&function, OwnerFunction(call))
    }

    /// Spins for the last part of the wait. It is here, right before the call, and not where the rest of the spin was: a
    /// microsecond of code that is in no cache lies between the two.
    @inline(__always)
    private mutating func spinOut(_ now_ns: Int64, _ time: TimeBase?) {
        called_ns = now_ns
        if isBeforeDeadline, !isEarly, place_ns > now_ns, let time {
            called_ns = time.spin(until: place_ns, from: now_ns).now_ns
        }
        hrt_probe_fire(token.slot, deadline_ns, called_ns)
    }

    /// How long before its deadline a call is committed if a thread spins up to the deadline. From then on it cannot be
    /// withdrawn.
    package static var lastSpin_ns: Int64 { 4_000 }
}
#endif
