internal import Synchronization

/// A position in a chain, without the type of its value. `Deferred<Value>` is the typed layer over it.
///
/// A link is created pending and settled once, with a value or an error. Until then it is either a *source*,
/// which is completed explicitly, by a list, or by what it follows (the contract calls only the first of the three
/// so); or it *waits* for another link and has a step to run with that link's outcome. It has a list of the links that wait for it, its consumers, in the
/// order attached.
///
/// `Documentation/Engine.md` has the order in which to read the engine's files, its states, and four walks
/// through it.
///
/// **Decide under the lock, act after it**: while a link is locked, no closure runs, and nothing of a user's
/// is released.
///
/// ## Ownership
///
/// - A list retains the links in it; a handle retains its link.
/// - A pending source is retained by its handles, if they may complete it; otherwise by its
///   ``CompletionRight``s. Its deinit, or the release of the last right, abandons it (A1).
/// - A consumer refers to its upstream by an unowned pointer, ``Upstream``. Nothing points up from a link
///   that has been notified: no cycle is left (A2), and the last handle is the last reference (A1, P1, U1).
///
/// ## Locks
///
/// Critical sections are short and bounded, except where a list is walked: `suspend` and the searches take
/// time linear in the consumers of one link, and some allocate an array.
/// A waiting thread spins, then yields, then sleeps (``Backoff``).
///
/// Locks nest in these orders only: a link's, then that of one of its consumers; a source's, then that of its
/// ``SourceReference``, of its list or of its follower; any of them, then that of a recorder. A thread that
/// has the lock of a `waiting` link that is in a list takes that of no other link: where links wait for one
/// another in a cycle, so would their locks.
///
/// The properties are `@exclusivity(unchecked)`: the lock excludes overlapping accesses. The run-time checks
/// were measured to add 50 to 75 % to every workload.
///
/// Sound as `@unchecked Sendable`: every stored property is immutable, atomic, or accessed under the lock
/// that its comment names. There are two exceptions. `payload` never changes once `settled` has been
/// published, and is then read without the lock by threads that have read that flag with acquiring ordering.
/// A link is accessed without the lock before another thread can reach it, and in its `deinit`.
@usableFromInline
final class Link: LinkEnding, @unchecked Sendable {
    /// The lock, the flags and the list of consumers; see ``Word``.
    let word: Atomic<UInt>

    /// The next link in the list that this one is in; of a source that was completed explicitly, the line
    /// where.
    @exclusivity(unchecked) private var nextOrLine = LinkOrNumber(nil)

    /// What this link waits for, under this link's lock; of a source that was completed explicitly, the file
    /// where.
    @exclusivity(unchecked) var upstream = Upstream.none

    /// State that few links need. Set once, under this link's lock.
    @exclusivity(unchecked) private var coldReference = ColdReference<ColdState>(nil)

    /// The reference that the rights to complete this source share. Set before others know of the link, or
    /// under its lock; never cleared.
    @exclusivity(unchecked) private var rightsReference = ColdReference<SourceReference>(nil)

    /// Where the link was created.
    let file: UnsafePointer<UInt8>

    /// The pending step until settled, then the outcome. Under this link's lock until settled.
    @usableFromInline @exclusivity(unchecked) var payload: Payload

    /// What this link is as a consumer or source. Under this link's lock.
    @exclusivity(unchecked) var state: LinkState

    /// Whether the outcome of what it waits for is its own, once that has come: a cancel of a consumer then waits until
    /// the link is settled, and takes effect below it. Under this link's lock.
    @exclusivity(unchecked) var keepsOutcome = false

    /// Flags that may be read without the lock, in the lowest bits: see ``Flags``. The other bits are the link's
    /// number in recordings: see ``Recording``.
    let flags = Atomic<UInt32>(0)

    /// The link before it in the list that it is in; otherwise its `activeThread`.
    @exclusivity(unchecked) private var previousOrThread = LinkOrNumber(number: 0)

    /// Where the link was created; the highest bit is set if its handles may complete it.
    let lineAndOwner: UInt32

    init(
        _ phase: Phase, _ payload: consuming Payload, _ site: DeferredDiagnostic.Location,
        completedByHandles: Bool = false
    ) {
        word = Atomic(phase == .settled ? Word.settled : 0)
        file = site.file
        self.payload = payload
        state = LinkState(phase)
        lineAndOwner = site.storedLine | (completedByHandles ? Link.completedByHandlesBit : 0)
        if Recording.isOn { Recording.made(self, phase) }
    }

    static let completedByHandlesBit: UInt32 = 1 << 31

    /// Flags that may be read without the link's lock. Once set, each stays set.
    enum Flags {
        /// It was removed from its upstream's list, so that a cancel that comes from another thread sees it. Set
        /// under the lock of that upstream.
        static let isDetached: UInt32 = 1
        /// This source has followed another link, and so may wait for more than its handles.
        static let hasFollowed: UInt32 = 2
        /// It receives the outcome but does not count as a consumer: it neither protects upstream from a cancel nor
        /// handles a failure. Set before it is attached; of a list's observer, once its input was cancelled.
        static let onlyObserves: UInt32 = 4
        /// A cancel has passed it whose root only passes the outcome on: see ``DrainLoop/noteAnswer(at:)``. Set under
        /// its lock.
        static let isPassed: UInt32 = 8

        /// A consumer was interrupted while a drain loop had it in its queue. Set under the lock.
        static let mayHaveInterruptedConsumers: UInt32 = 16
        /// A shield of this link that has ended has left a consumer that stands for all such shields (C3).
        static let isShielded: UInt32 = 32

        /// A list that cancels what remains waits for it, or did: see ``noteLeadsToCancellingList()``.
        static let mayLeadToCancellingList: UInt32 = 64

        /// It is detached because a cancel has taken effect on it, and not, say, since it has closed a cycle. Set with
        /// `isDetached`, under the lock of its upstream.
        static let isDetachedByCancel: UInt32 = 128

        /// How many bits they take.
        static let width: UInt32 = 8
    }

    var isDetached: Bool { flags.load(ordering: .relaxed) & Flags.isDetached != 0 }

    var isDetachedByCancel: Bool { flags.load(ordering: .relaxed) & Flags.isDetachedByCancel != 0 }

    var onlyObserves: Bool { flags.load(ordering: .relaxed) & Flags.onlyObserves != 0 }

    var hasFollowed: Bool { flags.load(ordering: .acquiring) & Flags.hasFollowed != 0 }

    var isPassed: Bool { flags.load(ordering: .relaxed) & Flags.isPassed != 0 }

    var mayHaveInterruptedConsumers: Bool {
        flags.load(ordering: .relaxed) & Flags.mayHaveInterruptedConsumers != 0
    }

    /// Either of the two, read at once.
    var isDetachedOrPassed: Bool { flags.load(ordering: .relaxed) & (Flags.isDetached | Flags.isPassed) != 0 }

    func set(_ flag: UInt32) { flags.bitwiseOr(flag, ordering: .releasing) }

    /// Whether this is a source that its handles may complete: that of `Deferred()` or
    /// `Deferred(canceller:)`.
    var isCompletedByHandles: Bool { lineAndOwner & Link.completedByHandlesBit != 0 }

    /// Where the link was created.
    var made: DeferredDiagnostic.Location {
        DeferredDiagnostic.Location(file: file, storedLine: lineAndOwner & ~Link.completedByHandlesBit)
    }

    deinit {
        switch phase {
        case .settled:
            if word.load(ordering: .acquiring) & ~Word.flags != 0 { flushAfterPause() }
            if payload.isFailure && !state.marks.contains(.handled) { reportUnhandled(payload) }
        case .source:
            if word.load(ordering: .acquiring) & ~Word.flags != 0 || coldState != nil { abandonAtEnd() }
        default:
            break
        }
    }
}

/// What the end of a link leads to, on the floors above; see `EndOfLife.swift`.
protocol LinkEnding {
    /// Abandons a source whose last ``CompletionRight`` was released, unless something else settles it (A1).
    func abandon()
    /// Abandons a pending source whose last handle was released: another link fails in its place.
    func abandonAtEnd()
    /// Notifies consumers that a pause suspended, since the last handle that could unpause the link was released (P1).
    func flushAfterPause()
}

extension Link {
    typealias Phase = LinkState.Phase

    /// Under the lock.
    var phase: Phase { state.phase }

    var coldState: ColdState? {
        @inline(__always) get { coldReference.object }
        set { coldReference = ColdReference(newValue) }
    }

    var sourceReference: SourceReference? {
        @inline(__always) get { rightsReference.object }
        set { rightsReference = ColdReference(newValue) }
    }

    /// The next link in the list that this one is in; that of the last is the first. Under the lock of the
    /// list's link, or owned by the drain loop that has taken the list.
    var next: Unmanaged<Link>? {
        @inline(__always) get { nextOrLine.link }
        @inline(__always) set { nextOrLine = LinkOrNumber(newValue) }
    }

    /// The link before this one in the list; meaningless for the first. Under the same lock as `next`.
    var previous: Unmanaged<Link>? {
        @inline(__always) get { previousOrThread.link }
        @inline(__always) set { previousOrThread = LinkOrNumber(newValue) }
    }

    /// The thread that runs its step while it is `running` or `failing`, or that notifies its consumers
    /// while it is `draining`; 0 while a pause further up suspends that. Under the lock, and only in these
    /// states: a waiting link may be in a list.
    var activeThread: UInt {
        @inline(__always) get { previousOrThread.number ?? 0 }
        @inline(__always) set { previousOrThread = LinkOrNumber(number: newValue) }
    }

    /// What this link waits for, retained. Takes the lock.
    var waitedFor: Link? { locked { phase == .waiting ? upstream.retained() : nil } }

    /// Makes this consumer point to the link whose list it is in.
    func point(to link: Link) {
        locked { if phase == .waiting { upstream = Upstream(link) } }
    }

    /// Makes this consumer point to the settled link whose list it is in, and which only its handles retain.
    func point(toSuspended link: Link) {
        locked { if phase == .waiting { upstream = Upstream(suspended: link) } }
    }

    /// Returns the link's cold state, after creating it if there is none. Takes the lock; allocates outside
    /// it.
    func ensureColdState() -> ColdState {
        if let coldState = locked({ self.coldState }) { return coldState }
        let fresh = ColdState()
        return locked {
            if let coldState { return coldState }
            coldState = fresh
            return fresh
        }
    }

    /// Where a source, which is in no list and waits for nothing, was completed explicitly; `nil` for any other
    /// link. Under its lock.
    var completionSite: DeferredDiagnostic.Location? {
        get {
            nextOrLine.number.flatMap { line in
                upstream.file.map { .init(file: $0, storedLine: UInt32(truncatingIfNeeded: line >> 1)) }
            }
        }
        set {
            guard let newValue else { return }
            assert(next == nil && upstream.isNone)
            nextOrLine = LinkOrNumber(number: UInt(newValue.storedLine) << 1)
            upstream = Upstream(file: newValue.file)
        }
    }
}

// MARK: - Reporting

extension Link {
    /// Suppresses the unhandled-failure report for this link. Its failure still reaches its consumers.
    func disownFailure() {
        locked { state.handle() }
    }

    /// Reports a failure that nothing handled: the link's own, when the last handle is released, or one on
    /// its way to it (U1).
    @inline(never)
    func reportUnhandled(_ outcome: borrowing Payload) {
        guard let error = outcome.error, !outcome.isOfCancelledWork, !(error is CancellationError) else {
            return
        }
        DeferredDiagnostics.report(.unhandledFailure(error, made: made))
    }

    func reportNotCompletable(_ site: DeferredDiagnostic.Location) {
        DeferredDiagnostics.report(.notCompletable(made: made, at: site))
    }
}

/// One of two things that a link never has at once, in one word, whose lowest bit says which: the address of
/// another link, which is even, or an even number. (An enum of the two would take nine bytes. A link has 116
/// bytes on 64-bit Linux, and glibc a block of 120 for it.)
private struct LinkOrNumber {
    private let bits: UInt

    init(_ link: Unmanaged<Link>?) { bits = link.map { UInt(bitPattern: $0.toOpaque()) } ?? 0 }

    init(number: UInt) {
        assert(number & 1 == 0)
        bits = number | 1
    }

    /// The link, if it is one. Sound: the bits are the address of a link unless the lowest is set.
    var link: Unmanaged<Link>? {
        bits & 1 == 0 ? UnsafeRawPointer(bitPattern: bits).map { Unmanaged.fromOpaque($0) } : nil
    }

    /// The number, if it is one.
    var number: UInt? { bits & 1 == 0 ? nil : bits & ~1 }
}

/// An unowned pointer from a link to what it waits for, accessed under the link's lock.
///
/// It is set while the link is in, or about to be put into, the list of an upstream that something else
/// retains, and cleared under the same lock before that ends:
///
/// - A pending upstream is retained by what will settle it: the list of its own upstream, the drain loop that
///   runs its step, its dispatcher's work, its ``CompletionRight``s, the ``ListObserver`` or the follower
///   that completes it. Each settles it before releasing it, and draining its list clears the pointers.
/// - A draining upstream is retained by the drain loop, which clears the pointer when it dequeues the link,
///   or has all point to it as suspended when a pause suspends it.
///
/// Sound: a thread that has the lock and finds the pointer set may therefore retain upstream. The exceptions
/// have the lowest bit set: a source that its handles own, and a settled link that suspends its consumers. Such a
/// link may be in its `deinit`, which has nothing left to retain. That `deinit` changes the pointer under this lock
/// before the memory is freed (`point(to:)`); until then the memory is valid, and a weak reference formed to an object
/// in its `deinit` is `nil`.
///
/// In a source that was completed explicitly, the name of the file where stands in its place. Whether `nextOrLine`
/// has a line says which it is: what was completed never waits again.
struct Upstream {
    private let bits: UInt

    static var none: Upstream { Upstream(bits: 0) }

    private init(bits: UInt) { self.bits = bits }

    fileprivate init(file: UnsafePointer<UInt8>) { bits = UInt(bitPattern: file) }

    fileprivate var file: UnsafePointer<UInt8>? { UnsafePointer(bitPattern: bits) }

    /// A settled link that suspends its consumers, or may do so again.
    init(suspended link: Link) {
        bits = UInt(bitPattern: Unmanaged.passUnretained(link).toOpaque()) | 1
    }

    @inline(__always)
    init(_ link: Link) {
        let address = UInt(bitPattern: Unmanaged.passUnretained(link).toOpaque())
        bits = link.isCompletedByHandles ? address | 1 : address
    }

    var isNone: Bool { bits == 0 }

    private var address: UnsafeRawPointer? { UnsafeRawPointer(bitPattern: bits & ~1) }

    func isSame(as link: Link) -> Bool { address == Upstream(link).address }

    /// Whether upstream is a source that waits for nothing but its handles. Under the link's lock.
    ///
    /// Searches then need no weak reference to it, which would make every later retain and release of the
    /// source slower. Sound: under the lock the memory of upstream is valid (see above).
    var isPlainSource: Bool {
        guard bits & 1 != 0, let address else { return false }
        return Unmanaged<Link>.fromOpaque(address)._withUnsafeGuaranteedRef { !$0.hasFollowed }
    }

    /// Whether nothing but what settles upstream refers to it: it has no handle. Under the link's lock.
    ///
    /// Sound: under the lock the memory of upstream is valid (see above).
    var isUniquelyReferenced: Bool {
        guard bits & 1 == 0, let address else { return false }
        return Unmanaged<Link>.fromOpaque(address).isUniquelyReferenced
    }

    /// Returns upstream, retained; `nil` if there is none or it is being deallocated. Under the link's lock.
    ///
    /// Sound: under the lock the memory of upstream is valid (see above).
    func retained() -> Link? {
        guard let address else { return nil }
        let link = Unmanaged<Link>.fromOpaque(address)
        if bits & 1 == 0 { return link.takeUnretainedValue() }
        // Retained from here on, and released by the caller after the lock, so that no reference that the
        // compiler makes for the weak one is the last. Retaining and releasing an object in its `deinit` has
        // no effect.
        let held = link.takeUnretainedValue()
        weak var alive: Link?
        alive = held
        return alive == nil ? nil : held
    }
}

/// State that few links need, in an object of its own, so that the other links are smaller.
///
/// Sound as `@unchecked Sendable`: every property is accessed under the lock of the link that it belongs to,
/// or before another thread knows of that link (`setCanceller`, `ListObserver.init`), or in its `deinit`.
@usableFromInline
final class ColdState: @unchecked Sendable {
    /// Runs when the source is cancelled, at most once; released when it is settled.
    var canceller: (@Sendable (CompletionRight) -> Void)?
    /// Returns whether the work that the canceller stops has yet to begin. A closure of the library's, called
    /// without a lock.
    var isWaiting: (@Sendable () -> Bool)?
    /// The thread on which it runs, or on which its own Resolver completes the source: that is the
    /// canceller's outcome (C1). A completion by other code, on another thread, merely preceded the cancel
    /// (C5).
    var cancellerThread: UInt = 0
    /// The cancels left in this link while it is in transition.
    var requests: [CancelRequest] = []
    /// Whether a cancel with this link as its root is open.
    var protection: Protection?
    /// The links by which a source follows others.
    var following: [Link] = []
    /// The list that completes this link.
    var list: SourceList?
    /// The number of pauses that have not been undone.
    var pauses: Int32 = 0
    /// How many cancels have come up to this source and have yet to protect the followers.
    var beginningCancels: UInt8 = 0
    /// Whether the canceller runs on the main actor, and is submitted there by a cancel from elsewhere.
    var cancellerIsOnMainActor = false
    /// How many more may follow this link before followers of no use are removed: see ``Link/noteFollower(in:)``.
    var followersUntilRemoval: UInt16 = 16
    /// What the library's own objects that contain this link do when it is settled.
    var whenSettled: [@Sendable () -> Void] = []
    /// The finalizers, in the order added.
    var finalizers: [FinalizerScope.Entry] = []
    /// The scope that this link keeps open while it waits or is paused.
    var retainedScope: FinalizerScope?
    private var ofPause = OfPause.nothing

    /// In one word: of a pending link, and of a settled one.
    private enum OfPause {
        case nothing
        case scopeOfFailing(FinalizerScope)
        case suspendedWork(SuspendedWork)
    }

    /// What has failed ahead of this pending, paused link belongs to this scope: that of this link's own outcome
    /// ends no sooner (Z2). Taken out when the link is settled.
    var scopeOfFailing: FinalizerScope? {
        get { if case .scopeOfFailing(let scope) = ofPause { scope } else { nil } }
        set {
            if case .suspendedWork = ofPause { return }
            ofPause = newValue.map { .scopeOfFailing($0) } ?? .nothing
        }
    }

    /// Follow-up work suspended by a pause of the settled link, for after the remaining consumers (F4); nil if no pause
    /// has suspended consumers yet.
    var suspendedWork: SuspendedWork? {
        get { if case .suspendedWork(let work) = ofPause { work } else { nil } }
        set { ofPause = newValue.map { .suspendedWork($0) } ?? .nothing }
    }

    /// Whether a pause has suspended its consumers once: see ``DrainLoop/suspend(_:_:_:_:)``.
    var isDrainedOneByOne: Bool { suspendedWork != nil }
}

/// The list that completes a source, as searches see it: a `ListObserver`.
///
/// Sound as `@unchecked Sendable`, as ``LoopList`` is: it stores nothing. (A class that is not final cannot be checked.)
@usableFromInline
class SourceList: @unchecked Sendable {
    /// The list's own Deferred, until it is settled.
    var link: Link? { nil }
    /// The links by which the list observes its inputs.
    var observers: [Link] { [] }
    var observerCount: Int { 0 }
    /// Whether it cancels the inputs that it no longer needs.
    var cancelsRemaining: Bool { false }
}

/// What a loop had left to do when a pause suspended it; see `Pausing.swift`.
class SuspendedWork {}

extension Array {
    /// Removes and returns all elements; an array that is empty already is not allocated anew.
    mutating func takeAll() -> [Element] {
        var taken: [Element] = []
        swap(&taken, &self)
        return taken
    }
}
