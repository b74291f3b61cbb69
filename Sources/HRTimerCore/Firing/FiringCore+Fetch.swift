#if os(Linux)
import CHRTimer

// What the core has the processor fetch, so that cache misses overlap with the work before them.
extension FiringCore {
    /// Fetches what the next three timers call while this one is called. Among a thousand due timers each target lies in other
    /// cache lines, and waiting for them took a quarter of a fire (`bench ops --operation fire`, `bench crowd --phases
    /// random`). What a target points to is known only when the target is there, so each step is done one fire later.
    @inline(__always)
    func fetchNext() {
        let next = expired.likelyNext
        if next.third != ExpiredTimers.noSlot { fetchTarget(of: next.third) }
        if next.second != ExpiredTimers.noSlot { fetchCaptured(by: next.second) }
        if next.first != ExpiredTimers.noSlot { fetchFirstCaptured(by: next.first) }
    }

    /// Has the processor fetch what the timer calls.
    @inline(__always)
    func fetchTarget(of slot: UInt32) {
        // Reads only two words of the target: the addresses of an owner and its type, or of a handler's code and what it
        // captured. So it neither reads the owner nor counts a reference.
        let (target, captured) = words(of: slot)
        hrt_prefetch(target, 256)
        hrt_prefetch(captured, 32)
    }

    /// Has the processor fetch what an owner's function captured.
    @inline(__always)
    private func fetchCaptured(by slot: UInt32) { hrt_prefetch(capturedByOwner(slot), 48) }

    /// Has the processor fetch what the timer's function captured first: most functions work on one object, or on memory of their
    /// own. In front of it are the two words of the runtime and, since faces take functions of any actor, the two of the actor.
    @inline(__always)
    private func fetchFirstCaptured(by slot: UInt32) {
        switch records.place(slot).pointee.target {
        case .handler: hrt_prefetch_pointee(words(of: slot).1, 16)
        case .owner: hrt_prefetch_pointee(capturedByOwner(slot), 32)
        case nil: break  // A fire of an outer run has it.
        }
    }

    /// Returns the address of what an owner's function captured; nil if it has no function, or captured nothing.
    @inline(__always)
    private func capturedByOwner(_ slot: UInt32) -> UnsafeRawPointer? {
        let record = records.place(slot)
        guard record.pointee.hasFunctionFirst, record.pointee.target != nil, let owner = words(of: slot).0 else {
            return nil
        }
        // Unsafe: the record keeps the owner alive. The owner's function, if there is one, follows the runtime's two words. The
        // core's lock guards it, so that what it captured lives.
        let function = (owner + 16).load(as: (UnsafeRawPointer?, UnsafeRawPointer?).self)
        return function.0 == nil ? nil : function.1
    }

    /// Notes what this fire touches, for the thread's next wake; see hrt_hot.h.
    @inline(__always)
    mutating func noteTouched(_ slot: UInt32, _ fire: inout Fire) {
        noteCode(of: slot)
        hrt_note_touched(HRT_TOUCHED_OWNER, words(of: slot).0, 256)
        // Unsafe: only the address is kept, to prefetch it.
        withUnsafePointer(to: &fire) { hrt_note_touched(HRT_TOUCHED_FIRE, $0, MemoryLayout<Fire>.size) }
        hrt_note_touched(HRT_TOUCHED_RECORD, records.place(slot), MemoryLayout<TimerRecord>.size)
        hrt_note_touched(HRT_TOUCHED_BATCH, batch.baseAddress, 64)
        hrt_note_touched(HRT_TOUCHED_COMMIT, Unmanaged.passUnretained(commit).toOpaque(), 64)
        account.noteTouched()
    }

    /// Notes the code that asks an owner for its call. It lies in no section of `hrt_hot.h`, since the compiler writes it.
    @inline(__always)
    private func noteCode(of slot: UInt32) {
        switch records.place(slot).pointee.target {
        case .owner: break
        default: return
        }
        // Unsafe: the second word of an owner is the table of its functions, whose first entry is about the type. The second
        // entry is read, and used only as an address to prefetch. The functions lie one after the other.
        guard let calls = words(of: slot).1 else { return }
        hrt_note_touched(HRT_TOUCHED_OWNER_CALLS, calls, 64)
        let code = calls.load(fromByteOffset: 8, as: UnsafeRawPointer?.self)
        hrt_note_touched(HRT_TOUCHED_OWNER_CODE, code, 192)
    }

    @inline(__always)
    private func words(of slot: UInt32) -> (UnsafeRawPointer?, UnsafeRawPointer?) {
        UnsafeRawPointer(records.place(slot)).load(as: (UnsafeRawPointer?, UnsafeRawPointer?).self)
    }
}

extension Fire {
    /// Has the processor fetch what will be called: otherwise its first lines are in no cache after milliseconds of idleness.
    /// As long as the call can be withdrawn, the caller holds the core's lock: the thread that withdraws it may free what was lent.
    @inline(__always)
    package mutating func fetch() {
        if callback != nil { return Self.fetch(&callback) }
        if function != nil { return Self.fetch(&function) }
        Self.fetch(&target)
    }

    /// Fetches the two parts of a function value: its code, and what it captured. Takes the function in place, since a copy
    /// would change reference counts.
    @inline(__always)
    private static func fetch<Function: ~Copyable>(_ function: inout Function) {
        // Unsafe: reads two words, and uses them only as addresses to prefetch. For an owner without a function, whose call
        // is withdrawn, they are the two words of the owner itself.
        withUnsafeMutablePointer(to: &function) { place in
            let (code, captured) = UnsafeRawPointer(place).load(as: (UnsafeRawPointer?, UnsafeRawPointer?).self)
            hrt_prefetch_read(code, 256)
            hrt_prefetch_read(captured, 64)
            hrt_note_touched(HRT_TOUCHED_CODE, code, 256)
            hrt_note_touched(HRT_TOUCHED_CAPTURED, captured, 64)
        }
    }
}
#endif
