// SPDX-License-Identifier: Apache-2.0
import HRTimer
import Hummingbird
import Logging
import Measured
import ServiceLifecycle
import Synchronization

/// A service that shows prices. A periodic job fetches them from an exchange that fails at times, and requests read them.
final class Prices: Sendable {
    struct Unavailable: Error {}
    struct State: Sendable {
        var price = 100.0
        var fetches = 0, failures = 0, jobs = 0, givenUp = 0
    }
    private let state = Mutex(State())
    var counts: State { state.withLock { $0 } }

    /// The exchange: answers after 2 ms, and fails every third time.
    private func fetch() async throws -> Double {
        let isBroken = state.withLock { state in
            state.fetches += 1
            if state.fetches % 3 == 0 { state.failures += 1 }
            return state.fetches % 3 == 0
        }
        try await Task.sleep(for: .milliseconds(2))
        if isBroken { throw Unavailable() }
        return state.withLock { $0.price } + Double.random(in: -1...1)
    }

    /// The job: fetches a price, and retries with waits that grow, within a time limit.
    func update() async throws {
        let retry = Retry(
            .exponential(initial: .milliseconds(1), jitter: .full),
            attempts: 4,
            within: .milliseconds(50)
        )
        let price = try await retry.run { try await fetch() }
        state.withLock { state in
            state.price = price
            state.jobs += 1
        }
    }

    func noteFailure() { state.withLock { $0.givenUp += 1 } }

    /// Returns the services of the program. They run until a signal, or until the group's graceful shutdown is triggered.
    func group(port: Int, bound: @escaping @Sendable (Int) -> Void) -> ServiceGroup {
        let router = Router()
        router.get("/price") { [self] _, _ in "\(counts.price)\n" }
        // The handler that is measured: it waits, as handlers do.
        router.get("/later") { [self] _, _ in
            try await Task.sleep(for: .milliseconds(5), tolerance: .zero)
            return "\(counts.price)\n"
        }
        var logger = Logger(label: "prices")
        logger.logLevel = .error
        let application = Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { bound($0.localAddress!.port!) },
            logger: logger
        )
        let job = PeriodicService(every: .milliseconds(20)) { [self] _ in
            noteFailure()
        } work: { [self] in
            try await update()
        }
        return ServiceGroup(
            configuration: .init(
                services: [.init(service: application), .init(service: job)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
    }
}
