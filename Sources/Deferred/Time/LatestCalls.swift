/// The calls of a ``DeferredLatest`` that are not settled: one that waits, and one whose body has begun.
///
/// Each function is one critical section. What it returns is cancelled, stopped or released after the lock.
struct LatestCalls {
    struct Entry: Sendable {
        let number: UInt64
        /// The position of the call's Deferred.
        let link: Link
        /// Weak: only the timer retains a call that waits, so that one whose timer is released fails (A1).
        let call: WeakReference<WaitingCall>
    }

    /// Whether a call whose body has begun is replaced when the next body begins, and not when a call is made.
    private let replacesWhenBegun: Bool
    private var lastNumber: UInt64 = 0
    /// The call that replaces the earlier ones: only that one, and later ones, may deliver a value (Q6).
    private var current: UInt64 = 0
    private var waiting: Entry?
    private var begun: Entry?
    /// Measures the longest wait of the calls that wait one after the other.
    private var longest: DelayedCall?
    /// The latest call of the series in progress, and what ends it; used for the leading edge.
    var series: (number: UInt64, ending: DelayedCall)?

    init(replacesWhenBegun: Bool) { self.replacesWhenBegun = replacesWhenBegun }

    var all: [Entry] { [waiting, begun].compactMap(\.self) }

    /// Whether no call has replaced this one.
    func mayDeliver(_ call: CallNumber) -> Bool { call.value >= current }

    /// What a call does, and what is to be done next.
    struct Admission: Sendable {
        let startsNow: Bool
        let replaced: [Entry]
        /// The call that waited. To be released after it was cancelled: its timer, whose time may have come just now, is
        /// about to release it, and it would fail with `.abandoned`.
        let waited: WaitingCall?
        /// Ends the series that the call continues.
        let ending: DelayedCall?
    }

    /// Adds a call, which begins at once if it has no pause, or is the first of a series.
    ///
    /// - Parameter ending: Ends the series of the call, where the first of a series begins at once.
    mutating func add(
        _ link: Link, _ call: WaitingCall, _ number: CallNumber, waits: Bool, _ ending: DelayedCall?
    ) -> Admission {
        lastNumber += 1
        number.value = lastNumber
        let entry = Entry(number: lastNumber, link: link, call: WeakReference(call))
        let isFirst = ending != nil && series == nil
        let before = series?.ending
        series = ending.map { (entry.number, $0) }
        let waited = waiting?.call.object
        if !waits || isFirst {
            return Admission(startsNow: true, replaced: begin(entry), waited: waited, ending: before)
        }
        var replaced = [waiting.take()]
        waiting = entry
        if !replacesWhenBegun {
            replaced.append(begun.take())
            current = entry.number
        }
        return Admission(
            startsNow: false, replaced: replaced.compactMap(\.self), waited: waited, ending: before)
    }

    /// Adds a call whose body begins; returns those that it replaces.
    private mutating func begin(_ entry: Entry) -> [Entry] {
        current = entry.number
        let replaced = [waiting.take(), begun.take()]
        begun = entry
        return replaced.compactMap(\.self)
    }

    /// What begins, what that replaces, and the timer that it stops.
    typealias Beginning = (call: WaitingCall?, replaced: [Entry], longest: DelayedCall?)

    /// Takes the call that waits, or that with this number, to begin its body.
    mutating func beginWaiting(_ number: CallNumber? = nil) -> Beginning? {
        guard let entry = waiting, number?.value ?? entry.number == entry.number else { return nil }
        waiting = nil
        // Retained here: the timer, whose time has come just now, is about to release it. Not released under the lock.
        return (entry.call.object, begin(entry), longest.take())
    }

    /// Removes a call that is settled. Returns it, and the timer that is of no use any more.
    mutating func end(_ call: CallNumber) -> (Entry?, DelayedCall?) {
        let number = call.value
        if waiting?.number == number { return (waiting.take(), longest.take()) }
        return (begun?.number == number ? begun.take() : nil, nil)
    }

    /// Adds the timer of the longest wait. Returns false if there is one, or no call waits any more.
    mutating func setLongest(_ timer: DelayedCall) -> Bool {
        guard longest == nil, waiting != nil else { return false }
        longest = timer
        return true
    }

    /// Ends the series whose latest call this is.
    mutating func endSeries(of call: CallNumber) -> DelayedCall? {
        series?.number == call.value ? series.take()?.ending : nil
    }
}

extension SpinLocked<LatestCalls> {
    /// Begins the body of the call that waits.
    func beginWaiting() { begin(withLock { $0.beginWaiting() }) }

    /// Begins the body of a call whose pause has passed, unless it was replaced.
    func begin(_ number: CallNumber, _ call: WaitingCall) {
        begin(withLock { $0.beginWaiting(number) })
        withExtendedLifetime(call) {}
    }

    private func begin(_ beginning: LatestCalls.Beginning?) {
        guard let (call, replaced, longest) = beginning else { return }
        longest?.stop()
        Link.cancel(replaced.map(\.link))
        call?.begin()
    }
}

/// The number of a call, which it has when it is added; 0 before that.
///
/// Sound as `@unchecked Sendable`: read and written under the lock of its `LatestCalls` only.
final class CallNumber: @unchecked Sendable {
    @exclusivity(unchecked) fileprivate(set) var value: UInt64 = 0
}

/// A call of a ``DeferredLatest`` whose body has yet to begin.
final class WaitingCall: Sendable {
    let pause: DelayedCall
    private let resolver: Deferred<Void>.Resolver

    private init(_ resolver: Deferred<Void>.Resolver, _ pause: DelayedCall) {
        self.resolver = resolver
        self.pause = pause
    }

    /// Returns a call, and the Deferred to which its body is attached.
    static func deferred(_ fileID: StaticString, _ line: UInt) -> (Deferred<Void>, WaitingCall) {
        let pause = DelayedCall()
        let (deferred, resolver) = Deferred<Void>.withResolver(.init(.after, fileID, line)) { _ in
            pause.stop()
        }
        return (deferred, WaitingCall(resolver, pause))
    }

    /// Runs the body. Called once.
    func begin() {
        pause.stop()
        resolver.resolve()
    }
}
