// SPDX-License-Identifier: Apache-2.0
import CWaylandWindow
import Glibc
import HRTimer

/// A window on the compositor of WAYLAND_DISPLAY, which reports its refreshes.
final class WaylandWindow: @unchecked Sendable {
    // Sendable: used only by the measuring thread.
    private let window: OpaquePointer

    init() throws {
        var window: OpaquePointer?
        let status = wayland_window_open(nil, &window)
        guard status == 0, let window else {
            throw BenchError("cannot open a window on a Wayland compositor: \(String(cString: strerror(-status)))")
        }
        self.window = window
    }

    deinit { wayland_window_close(window) }

    var surface: WaylandSurface {
        WaylandSurface(
            display: OpaquePointer(wayland_window_display(window)),
            surface: OpaquePointer(wayland_window_surface(window))
        )
    }

    /// Draws a frame. The source may ask when the frame was shown.
    func draw(_ source: VsyncSource) {
        source.willCommit()
        wayland_window_draw(window)
    }
}
