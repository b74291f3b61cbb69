// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import HRTimerCalendar

import class HRTimerCompat.CADisplayLink

// Declarations that the code of README and doc comments presupposes: the names of a reader's own program. See the Makefile's
// documentation-code.

/// The reader's own type, with all the methods that the code calls on it.
final class Owner: Sendable {
    func tick(_ timer: LoopTimer) {}
    func tick() {}
    func refresh(_ timer: LoopTimer) {}
    func step(_ link: CADisplayLink) {}
}

/// The reader's own type whose members have none of the names of the functions below.
final class Reader: Sendable {}

typealias Model = Owner
typealias Clock = Owner
typealias Screen = Owner

struct Label: Sendable {
    nonisolated(unsafe) static var text = ""
    var text: String {
        get { Self.text }
        nonmutating set { Self.text = newValue }
    }
}

struct Canvas: Sendable {
    func draw(_ frame: Int) {}
}

struct Connection: Sendable {
    let id = 1
    func close() {}
}

actor Search {
    let requests = 0
    func type(_ text: String) {}
}

func retry(times: Int, clock: some _Concurrency.Clock<Duration>, _ body: () async throws -> Void) async throws {}

enum Polled { case done, more }

struct HTTPError: Error { let isTransient = true }

struct Document: Sendable {}
func save(_ document: Document) {}

struct Player: Sendable { let positions = AsyncStream<Int> { _ in } }
struct Field: Sendable { let changes = AsyncStream<String> { _ in } }
struct Bar: Sendable { func draw(_ fraction: Double) {} }
let (player, field, bar, document) = (Player(), Field(), Bar(), Document())
let (changes, url, disk) = (field.changes, "url", DispatchQueue(label: "disk"))

let (model, label, canvas, connection) = (Owner(), Label(), Canvas(), Connection())
let toast = "toast"
let (done, total, socket) = (1.0, 2.0, Int32(0))
let (midnight_ns, noon_ns) = (Int64(0), Int64(0))
let (deadline, start) = (MonotonicInstant.now, MonotonicInstant.now)
let (loop, timer, queue) = (
    TimerLoop(), LoopTimer(timeInterval: 1, repeats: true) { _ in }, DispatchQueue(label: "queue")
)
let executor = try! TimerExecutor()
let engine = try! TimerEngine()
nonisolated(unsafe) var configuration = TimerEngine.Configuration()
nonisolated(unsafe) let base = OpaquePointer(bitPattern: 8)!

func advance(by ticks: UInt) {}
func refresh() {}
func step(_ ticks: Int) {}
func fetch() async throws -> String { toast }
func ask() async throws -> String { toast }
func lunch() {}
func startChild() {}
func report() {}
func collect() {}
func log(_ line: String) {}
func search(_ text: String) {}
func show(_ position: Int) {}
func legacyFetch(_ url: String) async throws -> String { url }
func poll() -> Polled { .done }
func draw(for instant: MonotonicInstant) {}
func draw() {}
func draw(_ progress: Double) {}
func redraw(after: Duration = .zero) {}
func reconnect(after: Duration) {}
func save(_ completion: @escaping @Sendable () -> Void) {}
func giveUpSaving() {}
func showNextPage() {}
func showTime() {}
func drainMailbox() {}
func hide(_ toast: String) {}
func close(_ connection: Connection) {}

// Functions of libwayland-client, as a program that imports it sees them.
nonisolated(unsafe) let (display, surface) = (base, base)
func wl_surface_commit(_ surface: OpaquePointer) {}
func wl_display_get_fd(_ display: OpaquePointer) -> Int32 { 0 }
@discardableResult func wl_display_dispatch(_ display: OpaquePointer) -> Int32 { 0 }

// A channel of SwiftNIO, as a program that imports NIOCore sees it.
struct Channel: Sendable {
    func close(promise: Int?) {}
}
let channel = Channel()

// Functions of Xlib, as a program that imports it sees them.
@discardableResult func XFlush(_ display: OpaquePointer) -> Int32 { 0 }
func XPending(_ display: OpaquePointer) -> Int32 { 0 }
let input = try! LoopSource(descriptor: 0) { _, _ in }

// Functions of libevent, as a program that imports it sees them.
func event_base_new() -> OpaquePointer? { base }
func event_base_dispatch(_ base: OpaquePointer) {}
func event_base_free(_ base: OpaquePointer) {}

var evening: CalendarSchedule { fatalError() }

/// The instants of a piece of music whose tempo changes.
struct Plan: Sendable { func next() -> MonotonicInstant { .now } }
let plan = Plan()
