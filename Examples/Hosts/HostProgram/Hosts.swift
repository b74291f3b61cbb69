// SPDX-License-Identifier: Apache-2.0
import CFrameLoop
import CGLib
import CSDL
import CUV
import HRTimer

/// The context of the hosts' C callbacks.
final class Guest {
    let loop: TimerLoop
    let isOver: () -> Bool
    var end: () -> Void = {}
    /// The number of calls by the host.
    var calls = 0

    init(_ loop: TimerLoop, _ isOver: @escaping () -> Bool) {
        self.loop = loop
        self.isOver = isOver
    }

    func process() {
        calls += 1
        loop.process()
        if isOver() { end() }
    }

    static func of(_ context: UnsafeMutableRawPointer?) -> Guest {
        Unmanaged<Guest>.fromOpaque(context!).takeUnretainedValue()
    }

    var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}

/// Main loops of other libraries. Each one runs the given loop until `isOver`, and returns how often it called the loop.
enum Host: String, CaseIterable {
    case glib, libuv, sdl, frames

    /// Whether the host calls the loop at each frame, rather than when the loop has something to do.
    var isByFrame: Bool { self == .sdl }

    func run(_ loop: TimerLoop, until isOver: @escaping () -> Bool) throws -> Int {
        let guest = Guest(loop, isOver)
        switch self {
        case .glib: try Self.glib(guest, canRecurse: true)
        case .libuv: try libuv(guest)
        case .sdl: sdl(guest)
        case .frames: try frames(guest)
        }
        return guest.calls
    }

    static func glib(_ guest: Guest, canRecurse: Bool) throws {
        let main = g_main_loop_new(nil, 0)
        guest.end = { g_main_loop_quit(main) }
        guest.loop.process()
        let watch = g_unix_fd_add(
            try guest.loop.hostDescriptor(),
            G_IO_IN,
            { _, _, context in
                Guest.of(context).process()
                return 1
            },
            guest.context
        )
        if canRecurse { g_source_set_can_recurse(g_main_context_find_source_by_id(nil, watch), 1) }
        g_main_loop_run(main)
        g_source_remove(watch)
        g_main_loop_unref(main)
    }

    private func libuv(_ guest: Guest) throws {
        let uv = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        defer {
            handle.deallocate()
            uv.deallocate()
        }
        guard uv_loop_init(uv) == 0 else { fatalError("no loop of libuv") }
        guest.end = { uv_stop(uv) }
        guest.loop.process()
        guard uv_poll_init(uv, handle, try guest.loop.hostDescriptor()) == 0 else { fatalError("no uv_poll_t") }
        handle.pointee.data = guest.context
        uv_poll_start(handle, Int32(UV_READABLE.rawValue)) { handle, _, _ in Guest.of(handle!.pointee.data).process() }
        uv_run(uv, UV_RUN_DEFAULT)
        uv_poll_stop(handle)
        handle.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { uv_close($0, nil) }
        uv_run(uv, UV_RUN_DEFAULT)
        uv_loop_close(uv)
    }

    private func sdl(_ guest: Guest) {
        SDL_SetHint(SDL_HINT_VIDEODRIVER, "dummy")
        guard SDL_Init(SDL_INIT_VIDEO) == 0 else { fatalError(String(cString: SDL_GetError())) }
        var isOver = false
        guest.end = { isOver = true }
        while !isOver {
            var event = SDL_Event()
            while SDL_PollEvent(&event) != 0 {}
            guest.process()
            SDL_Delay(2)
        }
        SDL_Quit()
    }

    private func frames(_ guest: Guest) throws {
        guest.loop.process()
        var host = frame_loop(
            fd: try guest.loop.hostDescriptor(),
            on_ready: { Guest.of($0).process() },
            on_frame: { !Guest.of($0).isOver() },
            context: guest.context,
            frame_ns: 16_666_667
        )
        frame_loop_run(&host)
    }
}
