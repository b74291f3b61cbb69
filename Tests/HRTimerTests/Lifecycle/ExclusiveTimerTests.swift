import HRTimer
import HRTimerTesting
import TestSupport
import Testing

@Suite struct ExclusiveTimerTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    /// When the handler was called, in seconds since the start.
    let calls = Recorder<Int>()

    init() {
        loop = TimerLoop(time: time.base)
        loop.isKeptAlive = true
        start = time.now
    }

    private func run(until seconds: Int) {
        loop.run(until: start.advanced(by: .seconds(seconds)))
    }

    private func makeTimer(repeats: Bool = true, then block: @escaping LoopTimer.Handler = { _ in }) -> ExclusiveTimer {
        ExclusiveTimer(interval: .seconds(1), repeats: repeats, loop: loop) { [calls, time, start] timer in
            calls.append(Int((time.now.nanoseconds - start.nanoseconds) / 1_000_000_000))
            block(timer)
        }
    }

    @Test("Starting a timer three times starts one timer, and one stop ends it")
    func startTwice() {
        let timer = makeTimer()
        #expect(!timer.isRunning)
        #expect([timer.start(), timer.start(), timer.start()] == [true, false, false])
        #expect(loop.liveTimers == 1)
        run(until: 3)
        #expect(calls.all == [1, 2, 3])
        timer.stop()
        timer.stop()
        #expect(!timer.isRunning)
        #expect(loop.liveTimers == 0)
        run(until: 10)
        #expect(calls.count == 3)
    }

    @Test("A timer that is started again after a stop begins a new interval")
    func startAgain() {
        let timer = makeTimer()
        timer.start()
        loop.run(until: start.advanced(by: .milliseconds(2600)))
        timer.stop()
        #expect(timer.start())
        run(until: 4)
        #expect(calls.all == [1, 2, 3])
        #expect(loop.limitInstant(forMode: .default) == start.advanced(by: .milliseconds(4600)))
    }

    @Test("restart() moves the call later, however often it is used")
    func restart() {
        let timer = makeTimer(repeats: false)
        for _ in 0..<10 {
            timer.restart()
            loop.run(until: time.now.advanced(by: .milliseconds(900)))
        }
        #expect(calls.count == 0)
        run(until: 20)
        #expect(calls.all == [9])
        #expect(!timer.isRunning)
    }

    @Test("A timer that has fired, or that its handler invalidated, can be started again, also from that handler")
    func ends() {
        let once = makeTimer(repeats: false)
        once.start()
        run(until: 5)
        #expect(calls.all == [1])
        #expect(once.start())
        run(until: 10)
        #expect(calls.all == [1, 6])
        let started = Recorder<Bool>()
        let holder = Recorder<ExclusiveTimer>()
        let endless = makeTimer { timer in
            guard let itself = holder.all.first else { return }
            started.append(itself.start())
            timer.invalidate()
            started.append(itself.start())
            if started.count == 4 { itself.stop() }
        }
        holder.append(endless)
        endless.start()
        run(until: 20)
        #expect(started.all == [false, true, false, true])
        #expect(calls.all == [1, 6, 11, 12])
        #expect(loop.liveTimers == 0)
    }

    @Test("A timer continues while the user drags, and stops with its last reference")
    func lives() {
        do {
            let timer = makeTimer()
            timer.start()
            loop.addCommonMode(.eventTracking)
            loop.run(mode: .eventTracking, before: start.advanced(by: .seconds(2)))
            #expect(calls.all == [1, 2])
            #expect(loop.liveTimers == 1)
            _ = timer
        }
        #expect(loop.liveTimers == 0)
    }

    @Test("Only one of many threads that call start() at once starts the timer")
    func threads() async {
        let timer = makeTimer()
        let started = Recorder<Bool>()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { started.append(timer.start()) } }
        }
        #expect(started.all.filter { $0 }.count == 1)
        #expect(loop.liveTimers == 1)
        timer.stop()
    }
}
