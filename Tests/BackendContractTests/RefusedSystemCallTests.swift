// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import Glibc
import HRTimer
import TestSupport
import Testing

/// Filters like those of containers, which let the kernel refuse single system calls, seccomp(2): an object that needs a
/// refused call throws when it is made. Each filter has a child of fork(2) of its own.
@Suite(.serialized) struct RefusedSystemCallTests {
    /// The system calls that each park strategy needs.
    private static let needs: [ParkStrategy: [String]] = [
        .futex: ["futex"],
        .timerfd: ["epoll_create1", "epoll_ctl", "epoll_wait", "timerfd_create", "timerfd_settime", "eventfd2"],
    ]
    private static let errors = [EPERM, ENOSYS]

    private static func refused(_ name: String, _ error: Int32, _ body: @escaping (@escaping Say) -> Void) -> [String] {
        inChild { say in
            let status = ctest_refuse(name, error)
            if status != 0 { return say("no filter: \(status)") }
            body(say)
        }
    }

    private static func make(_ way: ParkStrategy, _ say: @escaping Say) {
        do {
            let engine = try TimerEngine(.init(parkStrategy: way))
            say("made")
            engine.shutdown()
        } catch {
            say("\(error)")
        }
    }

    private static func throwOnce() {
        do { throw TimerError(operation: "throw once", errorNumber: EPERM) } catch {}
    }

    private static func text(_ error: Int32) -> String { String(cString: strerror(error)) }

    @Test("An engine whose park strategy the kernel refuses is not made, and the error says which way, and why")
    func engines() async {
        await #expect(processExitsWith: .success) {
            for way in ParkStrategy.available {
                // Once in the parent: see ForkTests. An error too: Swift Testing looks at the stack of code that throws, and
                // the first such look wakes a futex.
                Self.make(way) { #expect($0 == "made") }
                Self.throwOnce()
                for name in Self.needs[way]! {
                    for error in Self.errors {
                        let words = Self.refused(name, error) { say in Self.make(way, say) }
                        #expect(
                            words == ["cannot make a park strategy (\(way)): \(Self.text(error))"],
                            "\(way) without \(name): \(words)"
                        )
                    }
                }
            }
        }
    }

    @Test(
        "A refused call that one park strategy needs does not keep ways that do not need it from being made",
        .disabled(if: isSanitized)
    )
    func others() async {
        await #expect(processExitsWith: .success) {
            // No thread may be started in such a child under Thread Sanitizer.
            for way in ParkStrategy.available {
                for name in Set(Self.needs.values.joined()).subtracting(Self.needs[way]! + ["futex"]) {
                    let words = Self.refused(name, EPERM) { say in Self.make(way, say) }
                    #expect(words == ["made"], "\(way) without \(name): \(words)")
                }
            }
        }
    }

    private static func useLoop(_ say: @escaping Say) {
        let loop = TimerLoop()
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        loop.add(LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in say("fired") }, forMode: .default)
        run(loop)
        do {
            try loop.add(LoopSource(descriptor: ends[0]) { _, _ in }, forMode: .default)
            say("added")
        } catch {
            say("\(error)")
        }
    }

    private static func run(_ loop: TimerLoop) { loop.run() }

    /// A loop of a debug build starts the thread that watches it, which no such child may do under Thread Sanitizer.
    @Test(
        "A loop whose descriptors the kernel refuses still fires timers, and throws when a source is added",
        .disabled(if: isSanitized)
    )
    func loops() async {
        await #expect(processExitsWith: .success) {
            let said = Recorder<String>()
            Self.useLoop(said.append)
            #expect(said.all == ["fired", "added"])
            for name in ["epoll_create1", "epoll_ctl", "epoll_wait", "timerfd_create", "timerfd_settime", "poll"] {
                for error in Self.errors {
                    let words = Self.refused(name, error) { say in Self.useLoop(say) }
                    #expect(words == ["fired", "cannot make an event loop: \(Self.text(error))"], "without \(name)")
                }
            }
        }
    }
}
