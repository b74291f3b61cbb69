// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// Tests of when a precise source submits its calls to a queue, and of the deadline that the block waits for.
@Suite struct SourceLeadTests {
    @Test("A block waits for the deadline that it was submitted for, and for no other")
    func submitted() {
        var lead = SourceLead(budget: SpinBudget(0.01, now_ns: 0))
        #expect(!lead.begin(1000, now_ns: 900))
        lead.submit(for: 1000)
        #expect(lead.begin(1000, now_ns: 900))
        #expect(!lead.begin(1000, now_ns: 1000))
        #expect(!lead.begin(2000, now_ns: 900))
        lead.submit(for: 2000)
        #expect(lead.begin(2000, now_ns: 900))
        #expect(!lead.begin(1000, now_ns: 900))
    }

    @Test(
        "A precise engine submits a call to a queue as soon as it wakes, and waits for the deadline of any other call",
        arguments: [true, false]
    )
    func early(onQueue: Bool) throws {
        let engine = try TimerEngine(.init(name: "lead", precision: .precise))
        let blocks = SourceCore.Target { _ in }
        let queue = SourceCore.Target(queue: DispatchQueue(label: "lead")) { _ in }
        let source = TimerSource(engine: engine, target: onQueue ? queue : blocks)
        source.setEventHandler {}
        source.schedule(deadline: .now.advanced(by: .seconds(3600)))
        source.activate()
        let deadline_ns = source.nextDeadline!.nanoseconds
        let isEarly = engine.core.state.withLock { core in
            var fire = Fire()
            // A call that is not early is prepared as of its deadline, even if the thread spins up to that.
            let call_ns = onQueue ? deadline_ns - 1 : deadline_ns
            return source.core.prepare(call_ns, &core, &fire) ? fire.isEarly : nil
        }
        #expect(isEarly == onQueue)
        engine.core.state.withLock { core in
            var fire = Fire()
            source.core.finish(wasCalled: false, deadline_ns - 1, &core, &fire)
        }
        source.cancel()
        engine.shutdown()
    }
}
