// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Foundation
import HRTimer
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

/// Tests of what a flight recorder keeps, and of the file that it writes.
@Suite struct FlightRecorderTests {
    let time = ManualTime()
    let engine: TimerEngine
    let recorder = FlightRecorder(lateBeyond: .milliseconds(1))

    init() throws {
        engine = try TimerEngine(.init(name: "flight", time: time.base))
    }

    private func lateFire() {
        let now = time.now
        engine.schedule(at: now.advanced(by: .milliseconds(10))) { [time] _ in time.advance(by: .milliseconds(3)) }
        engine.schedule(at: now.advanced(by: .milliseconds(11))) { _ in }
        time.advance(by: .milliseconds(20))
    }

    /// Returns the events of a file after "Trace Event Format", Google 2016; fails if an event lacks what its phase needs.
    private func validated(_ text: String) throws -> [[String: Any]] {
        let file = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(file["displayTimeUnit"] as? String == "ns")
        let events = try #require(file["traceEvents"] as? [[String: Any]])
        var open: [String: Double] = [:]
        for event in events {
            #expect(event["name"] is String)
            #expect(event["pid"] is Int && event["tid"] is Int)
            let at = try #require(event["ts"] as? Double)
            switch event["ph"] as? String {
            case "X": #expect((event["dur"] as? Double ?? -1) >= 0)
            case "i": #expect(["t", "p", "g"].contains(event["s"] as? String))
            case "M": #expect((event["args"] as? [String: Any])?["name"] is String)
            case "b":
                #expect(event["cat"] is String)
                open[try #require(event["id"] as? String)] = at
            case "e":
                let id = try #require(event["id"] as? String)
                let begun = try #require(open[id])
                open[id] = nil
                #expect(at >= begun)
            case let phase: Issue.record("phase \(phase ?? "none")")
            }
        }
        #expect(open.isEmpty)
        return events
    }

    private func named(_ name: String, _ phase: String, in events: [[String: Any]]) -> [[String: Any]] {
        events.filter { $0["name"] as? String == name && $0["ph"] as? String == phase }
    }

    @Test("An engine without a recorder records nothing; with one its parks, calls and deadlines are in the file")
    func engineEvents() throws {
        lateFire()
        engine.flightRecorder = recorder
        #expect(engine.flightRecorder === recorder)
        #expect(recorder.records.isEmpty)
        lateFire()
        let events = try validated(recorder.json())
        #expect(named("arm", "i", in: events).count == 2)
        #expect(named("call", "X", in: events).map { $0["dur"] as? Double } == [3000, 0])
        #expect(named("deadline", "i", in: events).count == 2)
        #expect(named("park", "X", in: events).count >= 1)
        let late = named("late: handlerBefore", "b", in: events)
        #expect(late.count == 1)
        let arguments = try #require(late.first?["args"] as? [String: Any])
        #expect(arguments["late_us"] as? Double == 2000)
        #expect(arguments["handlerBefore_us"] as? Double == 2000)
        let end = try #require(named("late: handlerBefore", "e", in: events).first?["ts"] as? Double)
        #expect(end - (try #require(late[0]["ts"] as? Double)) == 2000)
        engine.flightRecorder = nil
        #expect(engine.flightRecorder == nil)
        let count = recorder.records.count
        lateFire()
        #expect(recorder.records.count == count)
    }

    @Test("A precise call is recorded with the spin before it, from the wake to the call; others have none")
    func spins() throws {
        engine.flightRecorder = recorder
        engine.schedule(after: .milliseconds(1)) { _ in }
        time.advance(by: .milliseconds(2))
        #expect(named("spin", "X", in: try validated(recorder.json())).isEmpty)
        let precise = try TimerEngine(.init(name: "precise", precision: .precise, time: time.base))
        precise.flightRecorder = recorder
        let deadline = time.now.advanced(by: .milliseconds(5))
        precise.schedule(at: deadline) { _ in }
        time.advance(by: .milliseconds(20))
        let spins = recorder.records.filter { $0.kind == FlightRecorder.Kind.spin.rawValue }
        #expect(spins.count == 1)
        #expect(spins.allSatisfy { $0.begin_ns < deadline.nanoseconds && $0.end_ns == deadline.nanoseconds })
    }

    @Test("A call on a queue is recorded as a delivery, from the submission to the call")
    func deliveries() throws {
        engine.flightRecorder = recorder
        let queue = DispatchQueue(label: "a \"quoted\" queue\n")
        let source = TimerSource(engine: engine, queue: queue)
        source.setEventHandler {}
        source.schedule(deadline: time.now.advanced(by: .milliseconds(5)))
        queue.suspend()
        source.activate()
        time.advance(by: .milliseconds(9))
        queue.resume()
        queue.sync {}
        let events = try validated(recorder.json())
        let begin = try #require(named("delivery", "b", in: events).first?["ts"] as? Double)
        let end = try #require(named("delivery", "e", in: events).first?["ts"] as? Double)
        #expect(end - begin == 4000)
        #expect(named("late: delivery", "b", in: events).count == 1)
        source.cancel()
    }

    @Test("A loop's calls are recorded beside an engine's")
    func loops() throws {
        engine.flightRecorder = recorder
        let loop = TimerLoop(time: time.base)
        loop.flightRecorder = recorder
        loop.add(LoopTimer(timeInterval: 0.010, repeats: false) { _ in }, forMode: .default)
        loop.run(for: .milliseconds(20))
        lateFire()
        #expect(named("call", "X", in: try validated(recorder.json())).count == 3)
    }

    @Test("The ring keeps the latest events: if there are more than it has room for, the first are gone")
    func wraps() throws {
        let small = FlightRecorder(capacity: 20)
        #expect(small.capacity == 32)
        #expect(FlightRecorder().capacity == 4096)
        engine.flightRecorder = small
        engine.schedule(after: .milliseconds(1), every: .milliseconds(1)) { _ in }
        time.advance(by: .seconds(1))
        let records = small.records
        #expect(records.count == 32)
        #expect(records.last.map { $0.begin_ns } == time.now.nanoseconds)
        _ = try validated(small.json())
    }

    @Test("Threads that record at once, and one that reads meanwhile, tear no event, and the latest are all there")
    func concurrent() {
        let small = FlightRecorder(capacity: 64)
        let wrong = Recorder<Int64>()
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for number in 0..<20_000 as Range<Int64> {
                if thread == 0 {
                    for record in small.records
                    where record.end_ns != record.begin_ns + 1 || record.value != -record.begin_ns {
                        wrong.append(record.begin_ns)
                    }
                } else {
                    let value = number * 4 + Int64(thread)
                    small.add(.call, .stale, value, value + 1, -value)
                }
                if thread == 0, number > 500 { return }
            }
        }
        #expect(wrong.all == [])
        #expect(small.records.count >= 61)
    }

    @Test("A dump replaces the file, and fails with the system's reason if the file cannot be written")
    func dumps() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("flight-\(UUID()).json").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        engine.flightRecorder = recorder
        try recorder.dump(to: path)
        lateFire()
        try recorder.dump(to: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == recorder.json())
        #expect(throws: TimerError.self) { try recorder.dump(to: "/nowhere/at/all.json") }
    }

    @Test("Dumps keep no descriptor open, also in a process without a standard input")
    func dumpsCloseTheirFiles() async {
        await #expect(processExitsWith: .success) {
            let recorder = FlightRecorder(lateBeyond: .milliseconds(1))
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("flight-\(UUID()).json").path
            // Whatever is opened first takes its number: once what the text reads, then the file.
            close(0)
            _ = recorder.json()
            for _ in 0..<10 { try recorder.dump(to: path) }
            // The test library's threads open descriptors meanwhile: only the dumps' own count, and those of what dumps read.
            let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
            }
            #expect(files.filter { $0.hasPrefix(path) || $0.hasSuffix("/comm") } == [])
            unlink(path)
        }
    }

    @Test("A dump that fails, at the write or at the rename, leaves no file behind")
    func failedDumps() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("flight-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // No file can take the place of a directory: rename(2), EISDIR.
        try FileManager.default.createDirectory(atPath: directory + "/taken", withIntermediateDirectories: true)
        #expect(throws: TimerError.self) { try recorder.dump(to: directory + "/taken") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["taken"])
        // The partial file's name has the thread's id; /dev/full takes no byte: full(4).
        let partial = directory + "/full.json.part\(hrt_thread_id())"
        try FileManager.default.createSymbolicLink(atPath: partial, withDestinationPath: "/dev/full")
        #expect(throws: TimerError.self) { try recorder.dump(to: directory + "/full.json") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["taken"])
    }

    @Test("A late fire causes a dump by itself, at most once a minute, if that is requested")
    func dumpsByItself() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("flight-\(UUID()).json").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        engine.flightRecorder = recorder
        lateFire()
        #expect(recorder.dumpsLateFiresTo == nil)
        recorder.dumpsLateFiresTo = path
        #expect(!FileManager.default.fileExists(atPath: path))
        lateFire()
        while !FileManager.default.fileExists(atPath: path) { try await Task.sleep(for: .milliseconds(2)) }
        _ = try validated(try String(contentsOfFile: path, encoding: .utf8))
        try FileManager.default.removeItem(atPath: path)
        time.advance(by: .seconds(50))
        lateFire()
        #expect(recorder.dumps == 1)
        time.advance(by: .seconds(10))
        lateFire()
        #expect(recorder.dumps == 2)
        while !FileManager.default.fileExists(atPath: path) { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test("The next dump by itself comes a minute after the last one, and not a nanosecond before")
    func dumpsEachMinute() {
        engine.flightRecorder = recorder
        // No file can be there; each try counts.
        recorder.dumpsLateFiresTo = "/dev/null/flight.json"
        let start = time.now
        lateFire()
        time.advance(to: start.advanced(by: .seconds(60)))
        lateFire()
        #expect(recorder.dumps == 2)
        time.advance(to: start.advanced(by: .seconds(120) - .nanoseconds(1)))
        lateFire()
        #expect(recorder.dumps == 2)
    }
}
