// SPDX-License-Identifier: Apache-2.0
import HRTimer

// When the engine is awake, and what it and others call.
extension SourceModel {
    /// A source was changed: it is armed anew or, if its call is made elsewhere and is due, submitted.
    func change(_ number: Int) {
        let source = sources[number]
        if source.isElsewhere, source.isReady, source.eventHandler != nil, source.grid.hasCome(now_ns) {
            submit(number)
        }
        rearm(number)
    }

    private func submit(_ number: Int) {
        sources[number].isUnderWay = true
        submitted.append((number, .call))
        fires += 1
    }

    func disarm(_ number: Int) {
        waits.removeAll { $0.source == number && $0.job == .call }
    }

    private func rearm(_ number: Int) {
        let source = sources[number]
        let deadline_ns = source.isReady && !source.isIdle && !source.isGone ? source.grid.next_ns : nil
        disarm(number)
        guard let deadline_ns else { return }
        let isMovable = source.grid.interval_as == 0 && source.leeway_ns == 0 && source.precision == nil
        arm(number, deadline_ns, isMovable: isMovable)
    }

    private func arm(_ number: Int, _ deadline_ns: Int64, isMovable: Bool) {
        let precision = max(sources[number].precision ?? .coalesced, script.precision)
        let leeway_ns = precision == .coalesced ? sources[number].leeway_ns : 0
        wait(number, .call, deadline_ns, leeway_ns, isMovable: isMovable)
    }

    private func wait(
        _ number: Int,
        _ job: Job,
        _ deadline_ns: Int64,
        _ leeway_ns: Int64 = 0,
        isMovable: Bool = false
    ) {
        armings += 1
        let place_ns = max(deadline_ns, looked_ns)
        waits.append(
            Wait(
                source: number,
                job: job,
                deadline_ns: deadline_ns,
                place_ns: place_ns,
                windowEnd_ns: max(place_ns, deadline_ns + leeway_ns),
                arming: armings,
                isMovable: isMovable
            )
        )
    }

    /// Has a call made where the handlers belong that has no deadline.
    func run(_ job: Job, _ number: Int) {
        if sources[number].isElsewhere {
            submitted.append((number, job))
        } else {
            wait(number, job, now_ns)
        }
    }

    func runSubmitted(_ count: Int) {
        for _ in 0..<count where !submitted.isEmpty {
            let (number, job) = submitted.removeFirst()
            make(job, number)
        }
    }

    func advance(to instant_ns: Int64) {
        fire(upTo: instant_ns)
        now_ns = max(now_ns, instant_ns)
        if now_ns > instant_ns { fire(upTo: now_ns) }
    }

    private func fire(upTo limit_ns: Int64) {
        while !isBusy, let wake_ns = waits.map(\.windowEnd_ns).min(), wake_ns <= limit_ns {
            now_ns = max(now_ns, wake_ns)
            beAwake()
        }
    }

    private func beAwake() {
        let limit_ns = now_ns
        looked_ns = now_ns
        while let index = earliest(limit_ns) {
            let wait = waits.remove(at: index)
            if wait.job == .call { come(wait) } else { onEngine { make(wait.job, wait.source) } }
            looked_ns = now_ns
        }
        looked_ns = .min
    }

    private func earliest(_ limit_ns: Int64) -> Int? {
        waits.indices.filter { waits[$0].place_ns <= limit_ns }
            .min { (waits[$0].place_ns, waits[$0].arming) < (waits[$1].place_ns, waits[$1].arming) }
    }

    private func onEngine(_ call: () -> Void) {
        fires += 1
        isBusy = true
        call()
        isBusy = false
    }

    /// The deadline of a source has come, or what was its deadline when it was armed.
    private func come(_ wait: Wait) {
        let number = wait.source
        if wait.isMovable, let next_ns = sources[number].grid.next_ns, next_ns > wait.deadline_ns {
            return arm(number, next_ns, isMovable: true)
        }
        guard sources[number].isReady else { return }
        guard sources[number].eventHandler != nil else { return beIdle(number) }
        if sources[number].isElsewhere {
            return submit(number)
        }
        guard let handler = begin(number) else { return rearm(number) }
        onEngine {
            call(number, handler)
            end(number)
            rearm(number)
            if sources[number].isCancelled { finishCancelling(number) }
        }
    }

    private func beIdle(_ number: Int) {
        sources[number].grid.forget(now_ns)
        sources[number].isIdle = true
    }

    /// The event handler to call; nil if the policy leaves the tick out.
    private func begin(_ number: Int) -> Int? {
        let policy = sources[number].policy
        guard let data = sources[number].grid.begin(now_ns, policy) else { return nil }
        missedTicks += UInt64(data - 1)
        sources[number].data = data
        sources[number].policyOfCall = policy
        sources[number].isUnderWay = true
        return sources[number].eventHandler
    }

    private func call(_ number: Int, _ handler: Int) {
        call(number, .called(source: number, handler: handler, now_ns: now_ns, data: sources[number].data))
        if let policy = sources[number].policyOfCall.take() { sources[number].grid.end(now_ns, policy) }
    }

    private func call(_ number: Int, _ event: SourceEvent) {
        sources[number].calls += 1
        sources[number].isRunning = true
        call(event, of: number, at: sources[number].place, call: sources[number].calls, script)
        sources[number].isRunning = false
    }

    private func end(_ number: Int) {
        sources[number].data = 0
        if !sources[number].isCancelled { sources[number].isUnderWay = false }
    }

    /// Makes a call that was submitted, or that has no deadline.
    private func make(_ job: Job, _ number: Int) {
        switch job {
        case .cancelling: return finishCancelling(number)
        case .registration:
            if !sources[number].isCancelled, sources[number].hasRegistrationHandler {
                sources[number].hasRegistrationHandler = false
                call(number, .registered(source: number, now_ns: now_ns))
            }
        case .call:
            let isToBeCalled = !sources[number].isCancelled && sources[number].suspensions == 0
            if isToBeCalled, sources[number].grid.hasCome(now_ns) {
                if sources[number].eventHandler == nil { beIdle(number) }
                if !sources[number].isIdle, let handler = begin(number) { call(number, handler) }
            }
        }
        end(number)
        change(number)
        if sources[number].isCancelled { finishCancelling(number) }
    }

    private func finishCancelling(_ number: Int) {
        if sources[number].isGone { return }
        sources[number].isGone = true
        if sources[number].hasCancelHandler { call(number, .cancelled(source: number, now_ns: now_ns)) }
    }
}
