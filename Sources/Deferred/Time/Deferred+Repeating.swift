public import Dispatch

/// Something done at regular intervals (Twisted's `LoopingCall`).
extension Deferred where Value == Void {
    /// Runs `body` every `interval`, until it fails or this is cancelled.
    ///
    /// ```swift
    /// let heartbeat = Deferred.repeating(every: .seconds(30)) { connection.ping() }
    /// heartbeat.fail { print("no more heartbeats: \($0)") }
    /// …
    /// heartbeat.cancel()
    /// ```
    ///
    /// The next run begins only when what `body` gave has an outcome. The ticks stand at whole intervals
    /// after the start and do not drift; those that passed in the meantime are skipped. The Deferred never
    /// succeeds: it fails with the first failure, or with `CancellationError` when it is cancelled, which
    /// stops the timer or cancels what `body` gave. To end it from inside, throw.
    ///
    /// - Parameters:
    ///   - interval: From one tick to the next. Zero: as soon as the dispatcher gets to it.
    ///   - dispatcher: Keeps the time, and runs `body`, except for a first run now, which is on this thread.
    ///   - startsNow: Whether the first run is now or after one interval.
    public static func repeating<Ignored: Sendable>(
        every interval: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        startsNow: Bool = true, _ body: @escaping @Sendable () throws -> Deferred<Ignored>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        guard interval >= .zero else {
            let reason = "repeating: the interval must not be negative, is \(interval)"
            return .rejected(DeferredError.invalidArgument(reason), fileID: fileID, line: line)
        }
        let ticks = Ticks(every: interval, from: dispatcher.elapsed, startsNow: startsNow)
        return Looping.deferred(fileID: fileID, line: line) {
            guard let delay = ticks.delay(at: dispatcher.elapsed) else { return try body().thenReturn(()) }
            return Deferred.after(delay, on: dispatcher).then { try body().thenReturn(()) }
        }
    }

    /// As the form above, for a `body` that is done when it returns.
    public static func repeating(
        every interval: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        startsNow: Bool = true, _ body: @escaping @Sendable () throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        repeating(
            every: interval, on: dispatcher, startsNow: startsNow,
            { () throws -> Deferred<Void> in
                try body()
                return .resolved()
            }, fileID: fileID, line: line)
    }

    /// As the form above, for an asynchronous `body`, which runs in a Task; a cancel cancels that.
    @_disfavoredOverload
    public static func repeating(
        every interval: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        startsNow: Bool = true, _ body: @escaping @Sendable () async throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        repeating(
            every: interval, on: dispatcher, startsNow: startsNow,
            { () throws -> Deferred<Void> in
                Deferred(operation: body, fileID: fileID, line: line)
            }, fileID: fileID, line: line)
    }
}

/// When the next tick is due.
private final class Ticks: Sendable {
    private let interval: Duration
    private let start: Duration
    /// The number of the last tick; -1 before a first one now.
    private let last: Guarded<Int128>

    init(every interval: Duration, from start: Duration, startsNow: Bool) {
        self.interval = interval
        self.start = start
        last = Guarded(startsNow ? -1 : 0)
    }

    /// How long it is until the next tick, the first that has not passed; nil for a first one now.
    func delay(at time: Duration) -> Duration? {
        let passed = (time - start).attosecondCount
        let length = interval.attosecondCount
        let number = last.withLock { last in
            // Never the last one again: a timer may be a little early.
            if last >= 0 && length > 0 { last = max(last, passed / length) }
            last += 1
            return last
        }
        if number == 0 { return nil }
        if length == 0 { return .zero }
        return Duration(attosecondCount: number * length - passed)
    }
}

extension Duration {
    fileprivate var attosecondCount: Int128 {
        Int128(components.seconds) * 1_000_000_000_000_000_000 + Int128(components.attoseconds)
    }

    fileprivate init(attosecondCount count: Int128) {
        let (seconds, attoseconds) = count.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
        self.init(secondsComponent: Int64(clamping: seconds), attosecondsComponent: Int64(attoseconds))
    }
}
