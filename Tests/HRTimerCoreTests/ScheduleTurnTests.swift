import HRTimerCore
import Testing

/// One look of a schedule at what is due: what becomes of a timer that was taken, by what is done to it before and during its
/// call. Told the time.
@Suite struct ScheduleTurnTests {
    /// The timers that come at that time, in order, each call over before the next begins.
    private func taken(
        _ schedule: inout TimerSchedule,
        at now_ns: Int64,
        during: (inout TimerSchedule, TimerToken) -> Void = { _, _ in }
    ) -> [TimerToken] {
        var all: [TimerToken] = []
        schedule.beginTurn()
        while true {
            switch schedule.next(now_ns: now_ns) {
            case .more: continue
            case .none: return all
            case .due(let due):
                let token = schedule.token(due)
                all.append(token)
                during(&schedule, token)
                if schedule.isUntouchedSinceCall(token) { schedule.endCall(token) }
            }
        }
    }

    @Test("Disarmed, moved or removed by an earlier one's call, what was taken with that does not come")
    func calledOff() {
        var schedule = TimerSchedule(precision: .normal)
        let tokens = (0..<5).map { _ in schedule.add(deadline_ns: 100) }
        let first = taken(&schedule, at: 100) { schedule, token in
            guard token == tokens[0] else { return }
            schedule.disarm(tokens[1])
            schedule.arm(tokens[2], 200)
            _ = schedule.remove(tokens[3])
        }
        #expect(first == [tokens[0], tokens[4]])
        let second = taken(&schedule, at: 200)
        #expect(second == [tokens[2]])
    }

    @Test("A call that nobody touched its timer in is told from one that armed, disarmed or removed it, and from none")
    func untouched() {
        for (deed, isExpected) in [
            ("nothing", true), ("arm", false), ("disarm", false), ("remove", false), ("end", false),
        ] {
            var schedule = TimerSchedule(precision: .normal)
            let timer = schedule.add(deadline_ns: 100)
            let isUntouchedBefore = schedule.isUntouchedSinceCall(timer)
            var isUntouched = false
            _ = taken(&schedule, at: 100) { schedule, token in
                switch deed {
                case "arm": schedule.arm(token, 200)
                case "disarm": schedule.disarm(token)
                case "remove": _ = schedule.remove(token)
                case "end": schedule.endCall(token)
                default: break
                }
                isUntouched = schedule.isUntouchedSinceCall(token)
            }
            #expect(!isUntouchedBefore && isUntouched == isExpected, "\(deed)")
        }
    }

    @Test("Put back, a timer and all that were taken with it come again in their former order", arguments: [2, 64, 65])
    func putBack(count: Int) {
        var schedule = TimerSchedule(precision: .normal)
        let tokens = (0..<count).map { _ in schedule.add(deadline_ns: 100) }
        schedule.beginTurn()
        if case .due(let due) = schedule.next(now_ns: 100) {
            let late = schedule.add(deadline_ns: 100)
            schedule.putBack(due)
            let armed = tokens.count { schedule.isArmed($0) }
            #expect(armed == count)
            let next_ns = schedule.exactWake().at_ns
            #expect(next_ns == 100)
            let all = taken(&schedule, at: 100)
            #expect(all == tokens + [late])
        } else {
            Issue.record("nothing is due")
        }
    }

    @Test("Told the time when it is made, a schedule files each timer but once or twice before it gives it out")
    func told() {
        let now_ns: Int64 = 1_000_000_000_000_000
        func looks(_ schedule: inout TimerSchedule) -> Int {
            for index: Int64 in 0..<5_000 { _ = schedule.add(deadline_ns: now_ns + index * 2_000) }
            var looks = 0
            schedule.beginTurn()
            while true {
                switch schedule.next(now_ns: now_ns + 10_000_000) {
                case .more: looks += 1
                case .due: continue
                case .none: return looks
                }
            }
        }
        var told = TimerSchedule(precision: .normal, now_ns: now_ns)
        var untold = TimerSchedule(precision: .normal)
        let (looksIfTold, looksIfUntold) = (looks(&told), looks(&untold))
        #expect(looksIfUntold > 2 * looksIfTold)
    }
}
