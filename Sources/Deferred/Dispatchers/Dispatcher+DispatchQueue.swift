public import Dispatch

/// A queue is a dispatcher: `done(on: .main) { … }`, `map(on: .global()) { … }`.
extension DispatchQueue: DelayedDispatcher {
    /// Runs `work` with `async`.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        async(execute: DeferredTaskLocals.carrying(work))
    }

    /// Runs `work` from a timer source, on a clock that stops while the machine sleeps.
    public func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        let pending = TimedWork(DeferredTaskLocals.carrying(work), on: self)
        pending.start(after: delay)
        return pending
    }

    /// `asyncAfter` retains its closure until it is due, which would be an hour for every request with a time
    /// limit of an hour. A cancelled timer source is released at once.
    ///
    /// The source's handler and this object retain each other until the timer expires or is cancelled.
    private final class TimedWork: DelayedWork {
        private let work: OneTimeWork
        /// Sound as `nonisolated(unsafe)`: after its activation the timer is only cancelled, which Dispatch
        /// allows from any thread, and before that no other thread has a reference to this object.
        private nonisolated(unsafe) let timer: any DispatchSourceTimer

        init(_ work: @escaping @Sendable () -> Void, on queue: DispatchQueue) {
            self.work = OneTimeWork(work)
            timer = DispatchSource.makeTimerSource(queue: queue)
        }

        func start(after delay: Duration) {
            timer.setEventHandler {
                self.timer.cancel()
                self.work.run()
            }
            timer.schedule(deadline: DispatchTime(after: delay), leeway: .milliseconds(1))
            timer.activate()
        }

        func cancel() {
            timer.cancel()
            work.cancel()
        }
    }
}

extension Dispatcher where Self == DispatchQueue {
    /// The main queue.
    public static var main: DispatchQueue { DispatchQueue.main }

    /// Returns the global queue of the given quality of service.
    public static func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue {
        DispatchQueue.global(qos: qos)
    }
}

extension DispatchTime {
    /// Creates the time `delay` from now, rounded up to a nanosecond; `.distantFuture` if `delay` is over 70 years.
    package init(after delay: Duration) {
        let longest = Duration.nanoseconds(1 << 61)
        guard delay < longest else {
            self = .distantFuture
            return
        }
        let wait = UInt64((max(delay, .zero).attoseconds + 999_999_999) / 1_000_000_000)
        self.init(uptimeNanoseconds: Self.now().uptimeNanoseconds + wait)
    }
}

extension DispatchQueue {
    /// Runs `body` on this queue and returns a Deferred with what it returns or throws (Twisted's `deferToThread`).
    ///
    /// ```swift
    /// DispatchQueue.global().deferred { try Data(contentsOf: file) }
    ///     .done(on: .main) { show($0) }
    /// ```
    ///
    /// A cancel fails the Deferred with `CancellationError` at once: if `body` has not started, it never runs and is
    /// released; if it is running, it runs to its end, and its result is dropped. Callbacks attached before `body` is
    /// done run on this queue.
    public func deferred<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        start(fileID, line) { resolver in
            resolver.complete(with: Result(catching: body), fileID: fileID, line: line)
        }
    }

    /// Runs `body` on this queue and returns a Deferred with the outcome of the one that `body` returns.
    ///
    /// A cancel before `body` has started fails the Deferred with `CancellationError`, and `body` never runs; a later
    /// one cancels the Deferred that `body` returned.
    public func deferredFollowing<R: DeferredConvertible>(
        _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        start(fileID, line) { resolver in
            // Cancelled while `body` runs, what it makes is cancelled, too (C5).
            resolver.follow(orCancel: Deferred(following: body, fileID: fileID, line: line))
        }
    }

    /// Submits `work` with the resolver of the Deferred that it returns, unless that is cancelled before.
    private func start<Value: Sendable>(
        _ fileID: StaticString, _ line: UInt, _ work: @escaping @Sendable (Deferred<Value>.Resolver) -> Void
    ) -> Deferred<Value> {
        let submitted = SpinLocked<(@Sendable (Deferred<Value>.Resolver) -> Void)?>(
            DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(work) : work)
        let (deferred, resolver) = Deferred<Value>.withResolver(
            canceller: { _ in _ = submitted.withLock { $0.take() } }, fileID: fileID, line: line)
        async {
            let work = submitted.withLock { $0.take() }
            work?(resolver)
        }
        return deferred
    }
}
