// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

/// The elements of another sequence that pass a debounce or a throttle; see `debounce(for:edges:on:)` and
/// `throttle(for:edges:on:)`.
struct PacedSequence<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element: Sendable {
    typealias Element = Base.Element
    typealias Failure = Base.Failure

    private let base: Base
    /// A gate to which nothing has come, for each iteration to copy.
    private let gate: BurstGate<Result<Base.Element, Base.Failure>>
    private let host: @Sendable () -> any TimerHost

    fileprivate init(
        _ base: Base,
        _ rule: BurstGate<Result<Base.Element, Base.Failure>>.Rule,
        _ edges: BurstEdges,
        _ period: some TimeSpan,
        host: @escaping @Sendable () -> any TimerHost
    ) {
        self.base = base
        gate = BurstGate(rule, edges, period_ns: period.nanosecondsOrZero)
        self.host = host
    }

    /// Returns an iterator, which begins to take elements of the base with the first call of `next()`.
    func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

    /// One consumer's iteration. Dropping it ends the task that iterates over the base.
    struct Iterator: AsyncIteratorProtocol {
        fileprivate let sequence: PacedSequence
        private var iteration: PacedIteration<Base.Element, Base.Failure>?

        fileprivate init(sequence: PacedSequence) { self.sequence = sequence }

        /// Returns the next element that passes; nil once the base has ended and all has passed, and when the task is
        /// cancelled. Does not leave the actor that iterates.
        mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Base.Failure) -> Base.Element? {
            let iteration = self.iteration ?? PacedIteration(sequence.base, sequence.gate, on: sequence.host())
            self.iteration = iteration
            return try await iteration.next(isolation: actor)
        }
    }
}

// An iterator is for one task alone.
@available(*, unavailable)
extension PacedSequence.Iterator: Sendable {}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Returns the last element of each burst, once nothing has come for `period`; for other edges see `BurstEdges`.
    ///
    ///     for await text in field.changes.debounce(for: .milliseconds(300), on: .monotonic) { search(text) }
    ///
    /// An element never passes early. A task of its own iterates over this sequence and takes each element when it comes,
    /// also while the consumer is busy. Elements that passed meanwhile wait in order for the next call of `next()`, so that
    /// a consumer's pause loses nothing.
    ///
    /// When this sequence ends, the element that waits passes at once. When it throws, the error passes after the elements
    /// that have passed already, and the element that waits is dropped. Cancelling the consumer's task, dropping the
    /// iterator or shutting the engine down ends the iteration. One timer at most waits for the end of a period. With a
    /// period of zero or less, or NaN, everything passes. A period is a length of time: with the wall clock, whose steps would
    /// change it, it is measured on the monotonic clock, by the shared engine.
    public func debounce<Instant: TimerInstant>(
        for period: some TimeSpan,
        edges: BurstEdges = .trailing,
        on clock: EngineClock<Instant>
    ) -> some AsyncSequence<Element, Failure> & Sendable {
        PacedSequence(self, .debounce, edges, period) { clock.host }
    }

    /// Returns an element at once, and then at most one for each `period`: the latest one, when the period is over, even if no
    /// other comes.
    ///
    /// For other edges see `BurstEdges`.
    ///
    ///     for await position in player.positions.throttle(for: .milliseconds(100), on: .monotonic) { show(position) }
    ///
    /// Works like `debounce(for:edges:on:)`, except that the element that waits when this sequence ends passes at the end of
    /// its period: elements never pass faster.
    public func throttle<Instant: TimerInstant>(
        for period: some TimeSpan,
        edges: BurstEdges = .both,
        on clock: EngineClock<Instant>
    ) -> some AsyncSequence<Element, Failure> & Sendable {
        PacedSequence(self, .throttle, edges, period) { clock.host }
    }
}
#endif
