#if os(Linux)
import CHRTimer

// The call itself: what engines and loops do with a fire once nobody can withdraw it.
extension Fire {
    /// Calls the handler, the clock having read `now_ns`, at its deadline if that is up to `lastSpin_ns` ahead. Without the lock.
    #if compiler(>=6.3)
    @section("hrt_hot")
    #endif
    package mutating func deliver(_ now_ns: Int64, on time: TimeBase) {
        // One that was prepared ahead has fetched it before the spin.
        if !isAhead { fetch() }
        // Moved, to a place that nobody else changes, so that no reference is counted.
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

    /// What is called is let go at once: its owner may have another handler by now.
    @inline(__always)
    private mutating func call(_ owner: AnyObject, _ now_ns: Int64, _ time: TimeBase) {
        if let function = function.take() {
            spinOut(now_ns, time)
            function.call(owner)
        } else {
            guard let callback = callback.take() else { return }
            spinOut(now_ns, time)
            callback.run()
        }
    }

    /// Has the processor fetch what is called, whose first lines are else in no cache after milliseconds of idleness.
    #if compiler(>=6.3)
    @section("hrt_hot")
    #endif
    @inline(__always)
    package mutating func fetch() {
        if callback != nil { return Self.fetch(&callback) }
        if function != nil { return Self.fetch(&function) }
        Self.fetch(&target)
    }

    /// Of a function as Swift has it: the address of its code, and that of what it captured. Where it is: a copy would count
    /// references.
    @inline(__always)
    private static func fetch<Function: ~Copyable>(_ function: inout Function) {
        // Unsafe: two words, of which only the addresses are used, as hints. Those of an owner without a function, whose
        // call is withdrawn, are its own.
        withUnsafeMutablePointer(to: &function) { place in
            let (code, captured) = UnsafeRawPointer(place).load(as: (UnsafeRawPointer?, UnsafeRawPointer?).self)
            hrt_prefetch_read(code, 256)
            hrt_prefetch_read(captured, 64)
            hrt_note_touched(HRT_TOUCHED_CODE, code, 256)
            hrt_note_touched(HRT_TOUCHED_CAPTURED, captured, 64)
        }
    }

    /// The end of a spin is here, right before the call, and not where the rest of it was: a microsecond of code that is in no
    /// cache lies between them.
    @inline(__always)
    private mutating func spinOut(_ now_ns: Int64, _ time: TimeBase) {
        called_ns = now_ns
        if isAhead, !isEarly, place_ns > now_ns {
            called_ns = time.spin(until: place_ns, from: now_ns, atMost: Self.lastSpin_ns).now_ns
        }
        hrt_probe_fire(token.slot, deadline_ns, called_ns)
    }

    /// So long before its deadline a call is made that a thread spins up to. It can be withdrawn no more then.
    package static var lastSpin_ns: Int64 { 4_000 }
}
#endif
