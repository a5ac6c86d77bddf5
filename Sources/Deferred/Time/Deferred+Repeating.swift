public import Dispatch

extension Deferred where Value == Void {
    /// Runs `body` every `interval`, until it fails or this Deferred is cancelled (Twisted's `LoopingCall`).
    ///
    /// ```swift
    /// let heartbeat = Deferred.repeating(every: .seconds(30)) { connection.ping() }
    /// heartbeat.fail { print("no more heartbeats: \($0)") }
    /// …
    /// heartbeat.cancel()
    /// ```
    ///
    /// A run is done when `body` returns or, if it returns a Deferred (or another ``DeferredConvertible``), when that
    /// is settled; only then the next run begins. The runs are due at whole intervals after the start and do not
    /// drift; those that fall due during a run are skipped. The Deferred never succeeds: it fails with the first
    /// failure, or with `CancellationError` when it is cancelled, which stops the timer or cancels what `body`
    /// returned. To end it from inside, throw. To postpone the next run, use ``RepeatingWork``.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next. Zero: as soon as the timer gets to it.
    ///   - timer: Measures the time, and runs `body`, except for a first run now, which is on this thread.
    ///   - startsNow: Whether the first run is now or after one interval.
    public static func repeating<Ignored: Sendable>(
        every interval: Duration, timer: any DelayedDispatcher = DispatchQueue.global(),
        startsNow: Bool = true, _ body: @escaping @Sendable () throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        RepeatingWork(interval, timer, nil, startsNow, fileID, line) { _ in try body() }.deferred
    }

    /// Runs `body` every `interval` with the number of intervals since the last run: 1, or more where runs were
    /// skipped because one took long or the timer was late.
    ///
    /// ```swift
    /// let clock = Deferred.repeating(every: .seconds(1), withCount: { seconds in game.advance(by: seconds) })
    /// ```
    ///
    /// The sum of the counts is the number of intervals that have passed, plus 1 for a first run now. With an
    /// interval of zero the count is always 1. Otherwise behaves as the form without a count.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - timer: Measures the time, and runs `body`, except for a first run now, which is on this thread.
    ///   - startsNow: Whether the first run is now or after one interval.
    public static func repeating<Ignored: Sendable>(
        every interval: Duration, timer: any DelayedDispatcher = DispatchQueue.global(),
        startsNow: Bool = true, withCount body: @escaping @Sendable (_ count: Int) throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        RepeatingWork(interval, timer, nil, startsNow, fileID, line, body).deferred
    }

    /// Runs `body` on the main actor every `interval`; otherwise behaves as the form without `on:`. A first run
    /// now is not before this returns.
    ///
    /// ```swift
    /// Deferred.repeating(every: .seconds(1), on: MainActor.self) { self.seconds += 1 }.store(in: bag)
    /// ```
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - timer: Measures the time.
    ///   - startsNow: Whether the first run is now or after one interval.
    public static func repeating<Ignored: Sendable>(
        every interval: Duration, on _: MainActor.Type,
        timer: any DelayedDispatcher = DispatchQueue.global(), startsNow: Bool = true,
        _ body: @escaping @MainActor @Sendable () throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        RepeatingWork(interval, timer, .mainActor, startsNow, fileID, line, onMainActor { _ in try body() })
            .deferred
    }

    /// Runs `body` on the main actor every `interval` with the number of intervals since the last run; otherwise
    /// behaves as the form without `on:`.
    public static func repeating<Ignored: Sendable>(
        every interval: Duration, on _: MainActor.Type,
        timer: any DelayedDispatcher = DispatchQueue.global(), startsNow: Bool = true,
        withCount body: @escaping @MainActor @Sendable (_ count: Int) throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        RepeatingWork(interval, timer, .mainActor, startsNow, fileID, line, onMainActor(body)).deferred
    }
}
