// SPDX-License-Identifier: Apache-2.0
import CWaylandWindow
import Glibc
import Synchronization
import TestSupport

/// A weston that one test owns, without a screen. The compositor ends with this object.
final class Weston: Sendable {
    let socket: String
    let pid: pid_t
    private let directory: String
    private let hasEnded = Atomic(false)

    /// Whether weston is installed: `apt-get install weston`.
    static let isInstalled = Shell.run("command -v weston >/dev/null") == 0

    static let isTen = Shell.run("weston --version | grep -q '^weston 10[.]'") == 0

    struct DidNotStart: Error {}

    /// Starts a compositor. `window()` waits until it shows windows.
    init() throws {
        var template = Array("/tmp/weston.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw DidNotStart() }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        socket = directory + "/display"
        let configuration = directory + "/weston.ini"
        guard Shell.run("printf '[core]\\nidle-time=0\\n' > \(configuration)") == 0 else { throw DidNotStart() }
        // Up to weston 10 the backend is named headless-backend.so, since then also headless; the file exists in both.
        let arguments = [
            "weston", "--backend=headless-backend.so", "--use-pixman", "--socket=display", "--config=\(configuration)",
        ]
        guard let pid = Self.spawn(arguments, directory) else { throw DidNotStart() }
        self.pid = pid
    }

    private static func spawn(_ arguments: [String], _ directory: String) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The compositor inherits none of our descriptors: a test that hangs must not keep the runner's pipes open.
        for standard in 0...2 as ClosedRange<Int32> {
            posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0)
        }
        var environment = ["XDG_RUNTIME_DIR=\(directory)"]
        for name in ["PATH", "HOME", "LANG"] {
            if let value = getenv(name) { environment.append("\(name)=\(String(cString: value))") }
        }
        let words = arguments.map { strdup($0) } + [nil]
        let settings = environment.map { strdup($0) } + [nil]
        defer { (words + settings).forEach { free($0) } }
        var pid = pid_t()
        return posix_spawnp(&pid, arguments[0], &actions, nil, words, settings) == 0 ? pid : nil
    }

    /// Returns a window on the compositor as soon as that shows windows. Throws if it does not within 20 s.
    func window() throws -> Window {
        for _ in 0..<400 {
            if let window = Window(on: socket) { return window }
            var status: Int32 = 0
            guard waitpid(pid, &status, WNOHANG) == 0 else { break }
            usleep(50_000)
        }
        throw DidNotStart()
    }

    func stop() { kill(pid, SIGSTOP) }

    func resume() { kill(pid, SIGCONT) }

    /// Kills the compositor, and waits for its end.
    func end() {
        // Only once: later another process may have the number.
        guard !hasEnded.exchange(true, ordering: .sequentiallyConsistent) else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    deinit {
        end()
        _ = Shell.run("rm -rf \(directory)")
    }
}

/// An application's window.
final class Window: @unchecked Sendable {
    // Sendable: only the test's thread uses it, which is also its loop's thread.
    private let window: OpaquePointer
    let display: OpaquePointer
    let surface: OpaquePointer

    /// Returns nil while no compositor shows windows at that socket.
    init?(on socket: String) {
        var window: OpaquePointer?
        guard wayland_window_open(socket, &window) == 0, let window else { return nil }
        self.window = window
        display = OpaquePointer(wayland_window_display(window))
        surface = OpaquePointer(wayland_window_surface(window))
    }

    deinit { wayland_window_close(window) }

    /// Commits a frame.
    func draw() { wayland_window_draw(window) }

    var descriptor: Int32 { wayland_window_descriptor(window) }

    /// Asks the compositor for an answer, which is dispatched like key events. Any thread.
    func ask(_ onAnswer: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        let box = Unmanaged.passRetained(Box(onAnswer)).toOpaque()
        _ = wayland_window_ask(window, { Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body() }, box)
    }

    /// Dispatches the application's events, and waits if there are none.
    func dispatch() { _ = wayland_window_dispatch(window) }

    func minimise() { wayland_window_hide(window) }

    /// Shows the window again. Returns 0 or a negative errno.
    func show() -> Int32 { wayland_window_show(window) }

    /// Reads the connection, as applications do.
    func serve() { _ = wayland_window_serve(window) }
}
