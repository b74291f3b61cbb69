// SPDX-License-Identifier: Apache-2.0
import Dispatch
import TestTraits
import Testing

import enum HRTimerCompat.DispatchSource
import class HRTimerCompat.DispatchSourceTimer

/// What `DispatchSource.makeTimerSource` makes.
@Suite(.hangLimit) private struct MadeSourceTests {
    @Test("A source made without a queue calls its handlers on a global one, once activated; a flag makes it strict")
    func defaults() {
        let source: DispatchSourceTimer = DispatchSource.makeTimerSource(flags: .strict)
        let done = DispatchSemaphore(value: 0)
        source.setEventHandler {
            dispatchPrecondition(condition: .onQueue(.global()))
            done.signal()
        }
        source.schedule(deadline: .now())
        #expect(done.wait(timeout: .now() + 0.01) == .timedOut)
        source.activate()
        #expect(done.wait(timeout: .now() + 60) == .success)
        source.cancel()
        #expect(source.source.isStrict && source.isCancelled)
        #expect(!DispatchSource.makeTimerSource().source.isStrict)
    }

    @Test("Work items are performed until they are cancelled")
    func workItems() {
        let queue = DispatchQueue(label: "items")
        let source = DispatchSource.makeTimerSource(queue: queue)
        let calls = Recorder<String>()
        let fired = DispatchSemaphore(value: 0)
        let (registered, cancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let event = DispatchWorkItem {
            calls.append("event")
            fired.signal()
        }
        source.setRegistrationHandler(handler: DispatchWorkItem { registered.signal() })
        source.setEventHandler(handler: event)
        source.setCancelHandler(handler: DispatchWorkItem { cancelled.signal() })
        source.schedule(deadline: .now(), repeating: .milliseconds(1))
        source.activate()
        #expect(registered.wait(timeout: .now() + 60) == .success)
        for _ in 0..<3 { #expect(fired.wait(timeout: .now() + 60) == .success) }
        event.cancel()
        // A call that had begun has returned then.
        queue.sync {}
        let count = calls.count
        let later = DispatchSemaphore(value: 0)
        queue.asyncAfter(deadline: .now() + .milliseconds(20)) { later.signal() }
        later.wait()
        #expect(calls.count == count)
        source.cancel()
        #expect(cancelled.wait(timeout: .now() + 60) == .success)
    }
}
