internal import Dispatch
internal import Synchronization

/// What the engine calls when something happens that a recording would show. While nothing records, each of
/// those places costs a relaxed load of `activity` and a branch that is not taken; none of them is in
/// inlinable code.
///
/// A recording changes nothing that it looks at: it holds numbers in place of links, runs no callback, and
/// takes the lock of nothing but itself. Some of this is called under a link's lock, so that what two threads
/// do to a link is noted in the order in which they did it; a recorder's lock is always the inner one.
enum Recording {
    private static let activity = Atomic<Bool>(false)
    private static let recorders = Guarded<[Recorder]>([])
    private static let lastNumber = Atomic<UInt64>(0)

    /// Whether anything records.
    @inline(__always)
    static var isOn: Bool { activity.load(ordering: .relaxed) }

    static func start(_ recorder: Recorder) {
        recorders.withLock { all in
            all.append(recorder)
            activity.store(true, ordering: .relaxed)
        }
    }

    static func stop(_ recorder: Recorder) {
        let before = recorders.withLock { all in
            let before = all
            all.removeAll { $0 === recorder }
            activity.store(!all.isEmpty, ordering: .relaxed)
            return before
        }
        // What goes, goes after the lock.
        _ = consume before
        recorder.stop()
    }

    /// A number that no link has had before; 0 when there are no more, after half a billion.
    static func nextNumber() -> UInt32 {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        return number <= UInt64(Link.greatestNumber) ? UInt32(number) : 0
    }

    /// A Deferred, as recorders are told of it.
    struct Subject {
        /// Of the whole process, and of this Deferred alone. 0 if it could not be given one.
        let number: UInt32
        /// Whether it has its outcome by now.
        let hasFired: Bool
        let made: DeferredDiagnostic.Location

        /// Nil for a link that is no position of a chain: it watches, or follows, for another.
        init?(_ link: Link) {
            made = link.made
            hasFired = link.word.load(ordering: .relaxed) & Word.settled != 0
            if made.isHidden {
                number = link.number
                if number == 0 { return nil }
            } else {
                number = link.numbered()
            }
        }
    }

    /// What happens to a subject: `DeferredRecording.Action`, with other subjects in place of their numbers.
    enum Deed {
        case made
        case attached(to: Subject)
        case waits(for: Subject)
        case follows(Subject)
        case bypassed(by: Subject)
        case began(DeferredRecording.Activity, queue: String)
        case ended
        case dispatched(to: String)
        case fired(DeferredRecording.Outcome)
        case paused
        case unpaused
    }

    private static func note(_ subject: Subject, _ deed: Deed) {
        for recorder in recorders.withLock({ $0 }) { recorder.note(subject, deed) }
    }

    private static func note(_ link: Link, _ deed: Deed) {
        if let subject = Subject(link) { note(subject, deed) }
    }
}

// MARK: - What the engine tells

extension Recording {
    @inline(never)
    static func made(_ link: Link, _ phase: Link.Phase) {
        switch phase {
        case .source:
            note(link, .made)
        case .settled:
            guard let subject = Subject(link) else { return }
            note(subject, .made)
            note(subject, .fired(outcome(of: link.content)))
            describeFailure(of: link, subject)
        default:
            // One that waits is told of when it is attached.
            break
        }
    }

    /// `consumer`, of which nobody else knows yet, is about to be attached to `link`.
    @inline(never)
    static func attached(_ consumer: Link, to link: Link) {
        let listed = consumer.content.kind == .watch ? consumer.content.reference(as: ListState.self) : nil
        let position = listed == nil ? consumer : listed?.link
        guard let position, let subject = Subject(position), let upstream = Subject(link) else { return }
        note(subject, .attached(to: upstream))
    }

    static func waits(_ link: Link, for inner: Link) {
        guard let subject = Subject(link), let inner = Subject(inner) else { return }
        note(subject, .waits(for: inner))
    }

    static func follows(_ source: Link, _ other: Link) {
        guard let subject = Subject(source), let other = Subject(other) else { return }
        note(subject, .follows(other))
    }

    static func bypassed(_ link: Link, by waiter: Link) {
        guard let subject = Subject(link), let waiter = Subject(waiter) else { return }
        note(subject, .bypassed(by: waiter))
    }

    static func paused(_ link: Link) { note(link, .paused) }
    static func unpaused(_ link: Link) { note(link, .unpaused) }

    static func dispatched(_ link: Link, to dispatcher: any Dispatcher) {
        note(link, .dispatched(to: dispatcher.nameInWords))
    }

    /// `link` is about to have its outcome. Under its lock.
    @inline(never)
    static func fired(_ link: Link, _ outcome: borrowing Link.Content) {
        note(link, .fired(Self.outcome(of: outcome)))
    }

    /// Says what a failure is that `fired` has told of. Not under a lock: the error's description is its
    /// author's code.
    @inline(never)
    static func describeFailure(of link: Link) {
        if let subject = Subject(link) { describeFailure(of: link, subject) }
    }

    private static func describeFailure(of link: Link, _ subject: Subject) {
        guard let error = link.content.error, !(error is CancellationError) else { return }
        let text = String(String(describing: error).prefix(DeferredRecording.Outcome.longestDescription))
        for recorder in recorders.withLock({ $0 }) { recorder.describeFailure(of: subject, text) }
    }

    private static func outcome(of content: borrowing Link.Content) -> DeferredRecording.Outcome {
        guard let error = content.error else { return .value }
        return error is CancellationError ? .cancelled : .failure("")
    }

    /// Runs a step, and notes from when to when, unless the outcome passes it by.
    @inline(never)
    static func run(
        _ step: Link.Step, of link: Link, _ outcome: borrowing Link.Content
    ) -> Link.Content {
        guard link.made.origin.runs(onFailure: outcome.isFailure), let subject = Subject(link) else {
            return step(outcome)
        }
        begin(.callback, of: subject)
        let answer = step(outcome)
        note(subject, .ended)
        return answer
    }

    /// Runs `body`, and notes from when to when.
    static func during<R>(
        _ activity: DeferredRecording.Activity, of link: Link, _ body: () -> R
    ) -> R {
        guard let subject = Subject(link) else { return body() }
        begin(activity, of: subject)
        let answer = body()
        note(subject, .ended)
        return answer
    }

    /// `finalizer`, noted when it runs. It keeps nothing of `link` but its number.
    static func noting(_ finalizer: @escaping Finalizer, of link: Link) -> Finalizer {
        guard let subject = Subject(link) else { return finalizer }
        return { outcome in
            begin(.finalizer, of: subject)
            finalizer(outcome)
            note(subject, .ended)
        }
    }

    private static func begin(_ activity: DeferredRecording.Activity, of subject: Subject) {
        note(subject, .began(activity, queue: DispatchQueue.currentLabel))
    }
}
