// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

import class HRTimerCompat.Port
import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer

/// Ports as programs on Darwin use them: to keep a run loop running. Foundation's own ports cannot be made on Linux.
@Suite struct PortTests {
    private let mode = RunLoop.Mode("ports")

    @Test("A loop with nothing but a port runs until its limit, and ends once the port is removed")
    func keepsRunning() {
        let loop = RunLoop()
        let port = Port()
        #expect(!loop.run(mode: .default, before: Date(timeIntervalSinceNow: 30)))
        loop.add(port, forMode: .default)
        loop.add(port, forMode: .default)
        let start = Date()
        #expect(loop.run(mode: .default, before: Date(timeIntervalSinceNow: 0.02)))
        #expect(Date().timeIntervalSince(start) >= 0.02 - 0.000_001)
        loop.remove(port, forMode: .default)
        #expect(!loop.run(mode: .default, before: Date(timeIntervalSinceNow: 30)))
    }

    @Test("Invalidating a port on any thread ends the wait in every loop, and the port keeps no loop running any more")
    func invalidate() {
        let loop = RunLoop()
        let port = Port()
        loop.add(port, forMode: .default)
        loop.perform { Thread { port.invalidate() }.start() }
        #expect(loop.run(until: .distantFuture) == .finished)
        #expect(!port.isValid)
        loop.add(port, forMode: .default)
        #expect(loop.run() == .finished)
    }

    @Test("Only its loop retains a port")
    func lifetime() {
        let loop = RunLoop()
        weak var port: Port?
        do {
            let made = Port()
            port = made
            loop.add(made, forMode: mode)
        }
        #expect(port != nil)
        if let port { loop.remove(port, forMode: mode) }
        #expect(port == nil)
    }
}
