internal import Synchronization

/// The engine's hooks for recordings, which the module `DeferredTracing` makes.
///
/// While nothing records, each hook costs a relaxed load of ``ProcessFlags`` and a branch that is not taken; none of
/// them is in inlinable code.
///
/// A recording changes nothing that it observes: it stores numbers in place of links, runs no callback, and takes
/// no lock but its own. Some hooks are called under a link's lock, so that what two threads do to a link is
/// recorded in the order in which they did it; a recorder's lock is always the inner one.
package enum Recording {
    /// Receives what happens to Deferreds, on any thread, some of it under a link's lock: it must not call into
    /// the library.
    package protocol Recorder: AnyObject, Sendable {
        func record(_ event: Event, of subject: Subject)
        /// Adds the description of a failure that was recorded as `settled`. Not called under a lock.
        func describeFailure(of subject: Subject, _ text: String)
    }

    /// Something that happens to a Deferred. What its kind has no use for is nil. Kinds and activities have the names
    /// that recordings show.
    package struct Event: Sendable {
        package enum Kind: String, Sendable {
            case made, attached, began, ended, dispatched, waits, follows, bypassed, settled, paused, unpaused
        }

        package var kind: Kind
        /// What it is attached to, waits for or follows, or what it is bypassed by.
        package var other: Subject?
        package var activity: Activity?
        package var queue: String?
        package var outcome: Outcome?
    }

    /// What runs on a thread for a Deferred, from its start to its end.
    package struct Activity: Sendable {
        package let name: String
        package var place: DeferredDiagnostic.Location?

        package static var callback: Activity { Activity(name: "callback") }
        package static var canceller: Activity { Activity(name: "canceller") }
        package static var finalizer: Activity { Activity(name: "finally") }
        package static var cancelling: Activity { Activity(name: "cancel") }
        package static var unpausing: Activity { Activity(name: "unpause") }
        package static func completing(at place: DeferredDiagnostic.Location) -> Activity {
            Activity(name: "complete", place: place)
        }
    }

    package enum Outcome: Sendable {
        case value, failure, cancelled
    }

    private static let recorders = SpinLocked<[any Recorder]>([])
    private static let lastNumber = Atomic<UInt64>(0)

    /// Whether anything records.
    @inline(__always)
    static var isOn: Bool { !ProcessFlags.areNone(of: ProcessFlags.records) }

    /// Sends what happens from now on to `recorder`, until ``stop(_:)``.
    package static func start(_ recorder: any Recorder) {
        recorders.withLock { all in
            all.append(recorder)
            ProcessFlags.set(ProcessFlags.records)
        }
    }

    package static func stop(_ recorder: any Recorder) {
        let before = recorders.withLock { all in
            let before = all
            all.removeAll { $0 === recorder }
            ProcessFlags.set(ProcessFlags.records, to: !all.isEmpty)
            return before
        }
        // Recorders are released outside the lock.
        _ = consume before
    }

    /// Returns a number that no link has had before; 0 when there are no more, after a quarter of a billion.
    static func nextNumber() -> UInt32 {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        return number <= UInt64(UInt32.max >> Link.Flags.width) ? UInt32(number) : 0
    }

    /// A Deferred, as recorders identify it.
    package struct Subject: Sendable {
        /// Unique in the process. 0 if no number was left.
        package let number: UInt32
        /// Whether it has its outcome by now.
        package let isSettled: Bool
        /// Where and how the Deferred was created.
        package let made: DeferredDiagnostic.Location

        /// Returns nil for a link that is no position of a chain: one that observes, or follows, for another.
        init?(_ link: Link) {
            made = link.made
            isSettled = link.word.load(ordering: .relaxed) & Word.settled != 0
            number = made.isHidden ? link.number : link.numbered()
            if made.isHidden && number == 0 { return nil }
        }
    }

    private static func note(_ subject: Subject, _ event: Event) {
        for recorder in recorders.withLock({ $0 }) { recorder.record(event, of: subject) }
    }

    /// Records what happens to a link, if that is a position of a chain.
    @inline(never)
    static func note(_ link: Link, _ event: Event) {
        if let subject = Subject(link) { note(subject, event) }
    }

    /// Records what happens to a link with another, if both are positions of chains.
    @inline(never)
    static func note(_ link: Link, _ kind: Event.Kind, _ other: Link) {
        if let other = Subject(other) { note(link, Event(kind: kind, other: other)) }
    }
}

// MARK: - The hooks

extension Recording {
    @inline(never)
    static func made(_ link: Link, _ phase: Link.Phase) {
        switch phase {
        case .source:
            note(link, Event(kind: .made))
        case .settled:
            note(link, Event(kind: .made))
            settled(link, link.payload)
            describeFailure(of: link)
        default:
            // A link that waits is recorded when it is attached.
            break
        }
    }

    /// `consumer` is about to be attached to `link`. Of other threads, only one that cancels an awaiting Task can
    /// reach it yet.
    @inline(never)
    static func attached(_ consumer: Link, to link: Link) {
        let listed = consumer.locked {
            consumer.payload.kind == .observer ? consumer.payload.content(as: ListObserver.self) : nil
        }
        guard let position = listed == nil ? consumer : listed?.link else { return }
        note(position, .attached, link)
    }

    /// `link` is about to be settled. Called under its lock.
    @inline(never)
    static func settled(_ link: Link, _ outcome: borrowing Payload) {
        let result: Outcome =
            switch outcome.error {
            case nil: .value
            case is CancellationError: .cancelled
            default: .failure
            }
        note(link, Event(kind: .settled, outcome: result))
    }

    /// Describes a failure that `settled(_:_:)` has recorded. Not called under a lock: an error's description is the
    /// user's code.
    @inline(never)
    static func describeFailure(of link: Link) {
        guard let error = link.payload.error, !(error is CancellationError), let subject = Subject(link)
        else { return }
        let text = String(String(describing: error).prefix(longestDescription))
        for recorder in recorders.withLock({ $0 }) { recorder.describeFailure(of: subject, text) }
    }

    /// Characters of an error's description that are recorded.
    private static let longestDescription = 300

    /// Runs a step and records its start and end, unless the outcome bypasses it.
    @inline(never)
    static func run(
        _ step: consuming Payload, of link: Link, _ outcome: borrowing Payload
    ) -> Payload {
        let runs = link.made.origin.runs(onFailure: outcome.isFailure)
        let subject = runs ? beginRecorded(.callback, of: link) : nil
        let answer = step.run(outcome)
        end(subject)
        return answer
    }

    /// Records that an activity begins, and returns what `end` needs; `nil` while nothing records.
    @inline(__always)
    static func begin(_ activity: @autoclosure () -> Activity, of link: Link) -> Subject? {
        isOn ? beginRecorded(activity(), of: link) : nil
    }

    @inline(never)
    private static func beginRecorded(_ activity: Activity, of link: Link) -> Subject? {
        let subject = Subject(link)
        if let subject { begin(activity, of: subject) }
        return subject
    }

    /// Records that an activity has ended.
    @inline(__always)
    static func end(_ subject: Subject?) {
        if let subject { note(subject, Event(kind: .ended)) }
    }

    /// Returns a finalizer that runs `finalizer` and records its start and end. It retains nothing of `link`.
    static func noting(_ finalizer: @escaping Finalizer, of link: Link) -> Finalizer {
        guard let subject = Subject(link) else { return finalizer }
        return { outcome in
            begin(.finalizer, of: subject)
            finalizer(outcome)
            end(subject)
        }
    }

    private static func begin(_ activity: Activity, of subject: Subject) {
        note(subject, Event(kind: .began, activity: activity, queue: Platform.currentQueueLabel))
    }
}

// MARK: - The numbers of links

extension Link {
    /// The link's number in recordings; 0 until it has one.
    fileprivate var number: UInt32 { flags.load(ordering: .relaxed) >> Flags.width }

    /// The link's number in recordings; 0 if there are none left.
    func numbered() -> UInt32 {
        if number == 0 { take(number: Recording.nextNumber()) }
        return number
    }

    /// Numbers the link, if it has no number.
    func take(number: UInt32) {
        var seen = flags.load(ordering: .relaxed)
        while seen >> Flags.width == 0 {
            let (exchanged, original) = flags.weakCompareExchange(
                expected: seen, desired: seen | number << Flags.width, ordering: .relaxed)
            if exchanged { return }
            seen = original
        }
    }
}
