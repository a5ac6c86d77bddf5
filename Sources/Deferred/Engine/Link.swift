internal import Synchronization

/// A position in a chain, without the type of its value. `Deferred<Value>` is the typed layer over it.
///
/// This file describes the engine. Read on in this order:
///
/// 1. `Link+Word`: the lock, the flags and the list of consumers, in one word; `Payload`: a step or an outcome.
/// 2. `Link+Attaching`, `DrainLoop+Delivering` and `DrainLoop`: a result moves down a chain.
/// 3. `DrainLoop+Nesting` with `CycleSearch`: a callback returns a Deferred.
/// 4. `DrainLoop+Cancelling`: a cancel moves up; `CancelRequest`: one that cannot take effect yet.
/// 5. `Dispatching`: steps on a queue or any other dispatcher.
/// 6. `Link+Pausing`, `FinalizerScope`, `Abandonment`, `Producer`, `ListState`, `Link+Awaiting`.
/// 7. The rest when a name leads there: `ColdState`, `GuaranteedWork`, `StoredClosure`, `Link+Deadlock` (what `wait()` refuses), `Link+Description`, `SpinLock`, `Platform`.
///
/// A link is created pending and settled once, with a value or an error. Until then it is either a *source*,
/// which is completed explicitly, by a list, or by what it follows; or it *waits* for another link and has a
/// step to run with that link's outcome. It has a list of the links that wait for it, its consumers, in the
/// order attached.
///
/// ## Four walks
///
/// Each walk names the functions that it passes, in their order, by file. Accessors and the functions of
/// `SpinLock` and `Platform`, which lock a word and read the current thread, are left out.
///
/// **`source.map(on: queue) { … }.map { … }.done { … }`, then `source.resolve(1)`.**
/// - `Deferred+Completing`: `resolve`, `complete`.
/// - `Payload+Outcome`: `value` stores the value in a payload.
/// - `DrainLoop+Delivering`: `complete`, `completeNow` store the outcome, take the list (`ConsumerQueue.init` in
///   `Link+Word`) and set `draining`, all under the lock.
/// - `DrainLoop`: `drainRetained`, `drain` take the consumers one by one (`removeFirst`).
/// - `DrainLoop+Delivering`: `deliver` makes the first one `running` and takes its step (`startRunning`);
///   `perform`, `performOther` find that it is for a queue.
/// - `Dispatching`: `submit` copies the outcome (`copy`), hands the link to the step (`prepare`) and calls the queue;
///   `endCall` finds that it did not run the step within the call.
///   Back in `drain`, `takeListOrBecomeIdle` ends the draining of the source; `run` finds no further job.
/// - On the queue, `Dispatching`: `run` takes the link and the outcome out. `Payload`: `run` calls the closure.
/// - `DrainLoop+Delivering`: `conclude`, `settle`, `finish` store the result in the link and take its list.
/// - `DrainLoop`: `enqueueDrain`; then `run`, `runJobs`, `drain` deliver to the second link.
/// - `DrainLoop+Delivering`: `deliver`, `perform`, `conclude`, `settle`, `finish` for that one, and so on. The last
///   link, if nothing else refers to it (`isUnreachable`), needs no lock: `runUnreachable`,
///   `concludeUnreachable`.
///
/// **A callback returns a pending Deferred, which is then resolved.**
/// - `DrainLoop+Delivering`: `deliver`, `perform`. The step (`Payload`: `run`; `Payload+Outcome`: `nesting`)
///   returns a payload of the kind `wait`; `conclude` calls `wait`.
/// - `DrainLoop+Nesting`: `wait` makes the link `waiting`, with `adopt` as its step. (`bypass`: if nothing but one
///   adopting consumer refers to the link, that consumer waits in its place.) `enlist` appends it to the nested
///   link's list (`append` in `Link+Word`).
/// - `CycleSearch`: `waits(for:)`, if the link has consumers.
/// - `resolve` as above, up to `deliver`, which finds that the link adopts the outcome: `take` copies it
///   (`Payload+Outcome`: `copy`), `finish` settles the link.
///
/// **`last.cancel()` on three links.**
/// - `Deferred+Control`: `cancel`.
/// - `DrainLoop+Cancelling`: `cancel` (and `Abandonment.finishWaiting`), `begin`, `walk`, `climb`, which moves from a
///   waiting link to its `upstream` (`Upstream.retained`, below) as long as `removeConsumer` finds that no other
///   consumer is there (`isAlone`, or `hasConsumer`, in `Link+Word`).
/// - `DrainLoop+Cancelling`: `cancelSource` settles the source, or claims its canceller for `runCanceller`.
/// - `DrainLoop+Delivering`: `finish`. `DrainLoop`: `run`; the error moves down as in the first walk.
///
/// Where `removeConsumer` finds another consumer, the link is detached (`beginDetached`) and `runDetached` runs its step
/// with `CancellationError`.
///
/// **`link.cancel()` while its callback runs, which then returns a pending Deferred.**
/// - `DrainLoop+Cancelling`: `climb` finds the link `running`; `leave` leaves the request there, after `secure` has marked
///   its root (`CancelRequest`).
/// - `DrainLoop+Nesting`: `wait` makes it `waiting`. `enlist` puts it into the nested link's list; `waits(for:)` looks for
///   a cycle; `takeRequests`, `cancelAgain`: the request begins again at its root, as in the third walk.
/// - If the callback returns a value instead, `finish` takes the request out, and it begins again there.
///
/// ## States
///
/// An atomic `word` has the lock, three flags and the list. **Decide under the lock, act after it**: while a
/// link is locked, no closure runs, and nothing of a user's is released.
///
/// | flags in the word | meaning | who changes it |
/// |---|---|---|
/// | none | pending | the thread that attaches, cancels or completes, under the lock |
/// | `settled`, `draining` | has its outcome; one drain loop notifies its consumers | that drain loop |
/// | `settled` | has its outcome; the list is empty | the thread that attaches next: it becomes the drain loop |
/// | `settled`, `paused` | has its outcome; consumers stay in the list | the last `unpause()`: it becomes the drain loop |
///
/// The drain loop that settles a link, or attaches to an idle one, sets `draining` and clears it in the
/// critical section in which it finds the list empty. Attaching appends in a critical section of the same
/// lock. A consumer is therefore either seen by that drain loop or finds the link idle: every callback runs
/// once, and never beside another of the same Deferred (F4).
///
/// As a consumer of another link, a link has a `phase`, under its own lock:
///
///     source ───────────────────────────────► settled           completed, cancelled, abandoned
///     waiting ──► running ──────────────────► settled           notified
///        │         │ ▲ ▲└► dispatched ─► running                its step was submitted to a dispatcher
///        │         ▼ │ │
///        │       waiting                                        its step returned a link to wait for
///        └──► detached ─► running                               a cancel has removed it from the list
///
/// `Documentation/Engine.md` lists all moves, and who makes them.
///
/// The thread that moves a link from `waiting` to `running` owns the step, so that a drain loop and a cancel
/// never both have it.
///
/// ## Ownership
///
/// - A list retains the links in it; a handle retains its link.
/// - A pending source is retained by its handles, if they may complete it; otherwise by its ``Producer``s. Its
///   deinit, or the release of the last producer, abandons it (A1).
/// - A consumer refers to its upstream by an unowned pointer, ``Upstream``. Nothing points up from a link
///   that has been notified: no cycle is left (A2), and the last handle is the last reference (A1, P1, U1).
///
/// ## Locks
///
/// Critical sections are short and bounded, except where a list is walked: `suspend`, `noteDetachment`,
/// `hasConsumer` and the searches take time linear in the consumers of one link, and some allocate an array.
/// A waiting thread spins, then yields, then sleeps (``Backoff``).
///
/// Locks nest in these orders only: a link's, then that of one of its consumers; a source's, then that of its
/// ``SourceReference``, or that of its follower; any of them, then that of a recorder. A thread that has the lock of a
/// `waiting` link takes that of no other link: where links wait for one another in a cycle, so would their locks.
///
/// The properties are `@exclusivity(unchecked)`: the lock excludes overlapping accesses. The run-time checks would
/// add 50 to 75 % to every workload (a link of a chain: 896 instructions, 1,568 with them).
///
/// Sound as `@unchecked Sendable`: every stored property is immutable, atomic, or accessed under the lock
/// that its comment names. There are three exceptions. `payload` never changes once `settled` has been
/// published, and is then read without the lock by threads that have read that flag with acquiring ordering.
/// A thread that has the only reference to a link, which is in no list, accesses it without the lock
/// (`isUnreachable`, and `deinit`). A new link is accessed without the lock until another thread can reach it.
@usableFromInline
final class Link: @unchecked Sendable {
    /// The lock, the flags and the list of consumers; see `Link+Word.swift`.
    let word: Atomic<UInt>

    /// The next in the list that this link is in; that of the last is the first. Under the lock of the list's
    /// link, or owned by the drain loop that has taken the list. (A source that is completed explicitly is in no
    /// list: see `completionSite`.)
    @exclusivity(unchecked) var next: Unmanaged<Link>?

    /// What this link waits for. Under this link's lock. (A source waits for nothing: see `completionSite`.)
    @exclusivity(unchecked) var upstream: Upstream

    /// State that few links need. Set once, under this link's lock.
    @exclusivity(unchecked) var coldState: ColdState?

    /// The reference that a source's producers share. Set before others know of the link, or under its lock;
    /// never cleared.
    @exclusivity(unchecked) var sourceReference: SourceReference?

    /// Where the link was created.
    let file: UnsafePointer<UInt8>

    /// The pending step until settled, then the outcome. Under this link's lock until settled.
    @usableFromInline @exclusivity(unchecked) var payload: Payload

    /// Under this link's lock.
    @exclusivity(unchecked) var phase: Phase

    /// Under this link's lock.
    @exclusivity(unchecked) var flags: Flags

    /// Flags that may be read without the lock, in the lowest three bits: `isDetached`, `onlyObserves` and
    /// `hasFollowed`. The other bits are the link's unique number in recordings, 0 until there is one.
    private let marks = Atomic<UInt32>(0)

    /// The thread that runs its step while it is `running`, or that notifies its consumers while it is
    /// `draining`; 0 while a pause further up suspends that. May be 0 or stale otherwise. Under this link's
    /// lock. For `waits(forWhatRunsOn:)`.
    @exclusivity(unchecked) var activeThread: UInt

    /// Where the link was created; the highest bit is set if its handles may complete it.
    let lineAndOwner: UInt32

    @usableFromInline
    init(
        _ phase: Phase, _ payload: consuming Payload, _ site: DeferredDiagnostic.Location,
        completedByHandles: Bool = false
    ) {
        word = Atomic(phase == .settled ? Word.settled : 0)
        next = nil
        upstream = .none
        coldState = nil
        sourceReference = nil
        file = site.file
        self.payload = payload
        self.phase = phase
        flags = []
        activeThread = 0

        lineAndOwner = site.storedLine | (completedByHandles ? Link.completedByHandlesBit : 0)
        if Recording.isOn { Recording.made(self, phase) }
    }

    static let completedByHandlesBit: UInt32 = 1 << 31

    /// Whether it was logically removed from its upstream's list; it is unlinked lazily. Never reset. Set
    /// under the lock of the link whose list it is in.
    var isDetached: Bool {
        get { marks.load(ordering: .relaxed) & 1 != 0 }
        set { if newValue { marks.bitwiseOr(1, ordering: .relaxed) } }
    }

    /// Whether it receives the outcome but does not count as a consumer: it neither protects upstream from a
    /// cancel nor handles a failure. Set before it is attached.
    var onlyObserves: Bool {
        get { marks.load(ordering: .relaxed) & 4 != 0 }
        set { if newValue { marks.bitwiseOr(4, ordering: .relaxed) } }
    }

    /// Whether this source has followed another link, and so may wait for more than its handles. Never reset.
    var hasFollowed: Bool {
        get { marks.load(ordering: .acquiring) & 2 != 0 }
        set { if newValue { marks.bitwiseOr(2, ordering: .releasing) } }
    }

    static let greatestNumber: UInt32 = 1 << 29 - 1

    /// The link's number in recordings, if it has one.
    var number: UInt32 { marks.load(ordering: .relaxed) >> 3 }

    /// The link's number in recordings; 0 if there are none left.
    func numbered() -> UInt32 {
        let number = number
        if number != 0 { return number }
        take(number: Recording.nextNumber())
        return self.number
    }

    /// Numbers the link, if it has no number.
    func take(number: UInt32) {
        var seen = marks.load(ordering: .relaxed)
        while seen >> 3 == 0 {
            let (exchanged, original) = marks.weakCompareExchange(
                expected: seen, desired: seen | number << 3, ordering: .relaxed)
            if exchanged { return }
            seen = original
        }
    }

    /// Where the link was created.
    var made: DeferredDiagnostic.Location {
        DeferredDiagnostic.Location(file: file, storedLine: lineAndOwner & ~Link.completedByHandlesBit)
    }

    deinit {
        switch phase {
        case .settled:
            if word.load(ordering: .acquiring) & ~Word.flags != 0 { flushAfterPause() }
            reportIfUnhandled()
        case .source:
            if word.load(ordering: .acquiring) & ~Word.flags != 0 || coldState != nil { abandonAtEnd() }
        default:
            break
        }
    }
}

extension Link {
    /// The state of a link as a consumer; see the description above.
    @usableFromInline
    enum Phase: UInt8 {
        /// Completed explicitly, by a list, or by the links that it follows.
        case source
        /// In its upstream's list, or taken from it by a drain loop that has not notified it yet.
        case waiting
        /// A cancel has detached it, and the thread of that is about to run its step with `CancellationError`.
        case detached
        /// Its step was submitted to a dispatcher that has not begun it.
        case dispatched
        /// Its step runs, or a thread is about to run or settle it.
        case running
        /// It has its outcome.
        case settled
        /// It had no other references when it began to wait for another link, and its consumer now waits for
        /// that one (L6).
        case bypassed
    }

    struct Flags: OptionSet {
        let rawValue: UInt16

        /// It receives `CancellationError` in place of an outcome: unconditionally, or while its `cancelMark` is open.
        /// Removed by `takeCancellation`, when it is dequeued or begins to run on its dispatcher.
        static let cancelPending = Flags(rawValue: 1)
        /// A source that was cancelled (`Resolver.isCancelled`).
        static let cancelled = Flags(rawValue: 2)
        /// The link of a Task that awaits, which is never a source, is in its upstream's list, or was.
        static let isAttached = Flags(rawValue: 128)
        /// The Task that awaits was cancelled before the outcome arrived.
        static let awaitCancelled = Flags(rawValue: 256)
        /// A source that was cancelled: the first late result is dropped without a report (C2).
        static let dropsLateResult = Flags(rawValue: 4)
        /// Its failure was handled (U1).
        static let handled = Flags(rawValue: 8)
        /// A source whose canceller runs, or is about to: cancelling it again from inside does nothing (C1).
        static let cancellerRuns = Flags(rawValue: 32)
        /// A follower that had a `cancelMark` when it was dequeued or detached: its outcome answers the cancel.
        static let wasMarked = Flags(rawValue: 64)
        /// A source that does not pass its cancel on to what it follows.
        static let shielded = Flags(rawValue: 16)
    }

    @usableFromInline
    typealias Step = Payload.Step
}

/// An unowned pointer from a link to what it waits for, accessed under the link's lock.
///
/// It is set while the link is in, or about to be put into, the list of an upstream that something else
/// retains, and cleared under the same lock before that ends:
///
/// - A pending upstream is retained by what will settle it: the list of its own upstream, the drain loop that runs
///   its step, its dispatcher's work, its producers, the ``ListState`` or the follower that completes it. Each
///   settles it before releasing it, and draining its list clears the pointers.
/// - A draining upstream is retained by the drain loop, which clears the pointer when it dequeues the link,
///   or clears all when a pause suspends it.
///
/// Sound: a thread that has the lock and finds the pointer set may therefore retain upstream. The exception is a source
/// that its handles own: it may be in its `deinit`, which has nothing left to retain. That `deinit` changes
/// the pointer under this lock before the memory is freed (`repoint`); until then the memory is valid, and a
/// weak reference formed to an object in its `deinit` is `nil`.
struct Upstream {
    private let bits: UInt

    static var none: Upstream { Upstream(bits: 0) }

    private init(bits: UInt) { self.bits = bits }

    @inline(__always)
    init(_ link: Link) {
        let address = UInt(bitPattern: Unmanaged.passUnretained(link).toOpaque())
        bits = link.isCompletedByHandles ? address | 1 : address
    }

    var isNone: Bool { bits == 0 }

    /// A number that identifies upstream. Not to be dereferenced.
    var identity: UInt { bits & ~1 }

    func isSame(as link: Link) -> Bool { identity == Upstream(link).identity }

    /// Whether upstream is a source that waits for nothing but its handles. Under the link's lock.
    ///
    /// Searches then need no weak reference to it, which would make every later retain and release of the
    /// source slower. Sound: under the lock the memory of upstream is valid (see above).
    var isPlainSource: Bool {
        guard bits & 1 != 0, let address = UnsafeRawPointer(bitPattern: identity) else { return false }
        return Unmanaged<Link>.fromOpaque(address)._withUnsafeGuaranteedRef { !$0.hasFollowed }
    }

    /// Returns upstream, retained; `nil` if there is none or it is being deallocated. Under the link's lock.
    ///
    /// Sound: under the lock the memory of upstream is valid (see above).
    func retained() -> Link? {
        guard let address = UnsafeRawPointer(bitPattern: identity) else { return nil }
        let link = Unmanaged<Link>.fromOpaque(address)
        if bits & 1 == 0 { return link.takeUnretainedValue() }
        // Retained from here on, and released by the caller after the lock, so that no reference that the
        // compiler makes for the weak one is the last. Retaining and releasing an object in its `deinit` has no
        // effect.
        let held = link.takeUnretainedValue()
        weak var alive: Link?
        alive = held
        return alive == nil ? nil : held
    }
}

extension Link {
    /// Whether this is a source that its handles may complete: that of `Deferred()` or
    /// `Deferred(canceller:)`.
    @usableFromInline
    var isCompletedByHandles: Bool { lineAndOwner & Link.completedByHandlesBit != 0 }
}

extension Link {
    /// Makes this consumer, in the list of `new`, point to that one if it points to `old`.
    func repoint(from old: Link, to new: Link) {
        locked {
            if phase == .waiting, upstream.isSame(as: old) { upstream = Upstream(new) }
        }
    }

    /// Makes this consumer, in the list of a link that nothing need retain any more, point to nothing.
    func clearUpstream() {
        locked { if phase == .waiting { upstream = .none } }
    }

    /// Makes this consumer, in the list of `link`, which is being drained, point to that one.
    func point(to link: Link) {
        locked { if phase == .waiting { upstream = Upstream(link) } }
    }
}

/// For `completionSite`. Sound: see there.
extension Upstream {
    init(file: UnsafePointer<UInt8>) { self.init(bits: UInt(bitPattern: file)) }

    var fileBits: UInt { bits }
}
