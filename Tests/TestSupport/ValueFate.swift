public import Deferred
internal import DeferredTesting

/// What becomes of a value that was completed with `onUndelivered:` and passes through a function of the library: it is
/// received, or given back, once (V1).
public enum ValueFate: CaseIterable, Sendable {
    /// A callback receives it.
    case received
    /// Nothing is attached, and the last handle is released.
    case dropped
    /// Its consumer is cancelled before the value is there.
    case cancelledBefore
    /// Its consumer is cancelled when the value is there, and has been submitted to a dispatcher that is busy.
    case cancelledAfter
    /// A time limit is over before the value is there.
    case timedOutBefore
    /// A time limit is over when the value is there, behind a pause.
    case timedOutAfter
    /// The dispatcher of the consumer releases its work.
    case released

    /// How often a value was received, and how often it was given back.
    public struct Count: Equatable, Sendable {
        /// How often a callback ran with it.
        public let received: Int
        /// How often it was given back.
        public let returned: Int

        /// Creates one.
        public init(received: Int, returned: Int) { (self.received, self.returned) = (received, returned) }
    }

    /// What is to be counted; nil for either, but one.
    ///
    /// - Parameter isSettledFirst: Whether the value is there before anything is attached.
    public func expected(isSettledFirst: Bool) -> Count? {
        switch self {
        case .received: Count(received: 1, returned: 0)
        case .dropped, .cancelledAfter, .released: Count(received: 0, returned: 1)
        // A value that is there at once is in time.
        case .cancelledBefore, .timedOutBefore, .timedOutAfter:
            isSettledFirst ? nil : Count(received: 0, returned: 1)
        }
    }

    /// Has a value pass through `pass`, and counts what becomes of it.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - isSettledFirst: Whether it is there before `pass` is called.
    ///   - pass: Returns a Deferred with what becomes of the value of its argument.
    ///   - proceed: Waits until what `pass` has begun is done, as far as it can be.
    public func count<Value, Passed>(
        of value: Value, isSettledFirst: Bool, _ pass: (Deferred<Value>) -> Deferred<Passed>,
        _ proceed: () -> Void = {}
    ) -> Count {
        let (received, returned) = (SharedLog<Int>(), SharedLog<Int>())
        let giveBack = { @Sendable (_: Value) in returned.add(1) }
        let receive = { @Sendable (_: Passed) in received.add(1) }
        let (clock, busy) = (ManualClock(), ManualDispatcher())
        do {
            let source = Deferred<Value>()
            if isSettledFirst { source.resolve(value, onUndelivered: giveBack) }
            let passed = pass(source)
            if isSettledFirst { proceed() }
            func resolve() {
                if !isSettledFirst { source.resolve(value, onUndelivered: giveBack) }
                proceed()
            }
            switch self {
            case .received:
                passed.done(receive).fail { _ in }
                resolve()
            case .dropped:
                passed.fail { _ in }
                resolve()
            case .cancelledBefore:
                let end = passed.done(receive)
                end.fail { _ in }
                end.cancel()
                resolve()
            case .cancelledAfter:
                let end = passed.done(on: busy, receive)
                resolve()
                end.cancel()
                end.fail { _ in }
                busy.run()
            case .timedOutBefore:
                passed.timeout(.seconds(1), timer: clock).done(receive).fail { _ in }
                clock.advance(by: .seconds(1))
                resolve()
            case .timedOutAfter:
                passed.pause()
                passed.timeout(.seconds(1), timer: clock).done(receive).fail { _ in }
                resolve()
                clock.advance(by: .seconds(1))
                passed.unpause()
            case .released:
                passed.done(on: DroppingDispatcher(), receive).fail { _ in }
                resolve()
            }
        }
        proceed()
        return Count(received: received.all.count, returned: returned.all.count)
    }
}
