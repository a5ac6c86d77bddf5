internal import Synchronization

/// One position in a chain, with nothing of its value's type: `Deferred<Value>` is the typed skin over it.
///
/// A link is made pending and settles once, with a value or an error. Until then it is either a *source*,
/// which somebody fires, or it *waits* for another link and holds the step to run with that one's outcome. It
/// keeps the list of the links that wait for it, in the order in which they were attached.
///
/// ## The protocol
///
/// Everything hangs on one atomic `word`: a lock bit, three flags and the list. **Decide under the lock, act
/// after it**: no closure runs, and nothing of a user's is released, while a link is locked. A critical
/// section is a handful of loads and stores, never an allocation, so that a short back-off is all a waiting
/// thread needs.
///
/// | state of the word | meaning | who moves it |
/// |---|---|---|
/// | – | pending | whoever attaches, cancels or fires, under the lock |
/// | `settled`, `busy` | has its outcome; one frame is telling those in the list | that frame alone |
/// | `settled` | has its outcome; the list is empty (or `paused`) | whoever attaches next becomes the frame |
///
/// The frame that settles a link, or finds it idle, sets `busy` and owns the telling until it clears `busy`
/// in the same critical section in which it saw the list empty. Attaching appends in a critical section of
/// the same lock, so what is attached is either seen by that frame or finds the link idle: no callback is
/// lost (F4), and since only one frame has `busy`, none runs twice or beside another.
///
/// A link's role as somebody's consumer is its `phase`, under its own lock:
///
///     source ───────────────────────────────► settled           fired, cancelled, abandoned
///     waiting ──► running ──────────────────► settled           told the outcome, or withdrew from waiting
///                  │  ▲ └► handedOver ─► running                its step belongs to a dispatcher
///                  ▼  │
///               linking ──► waiting                             its step gave a link to wait for
///
/// Whoever moves `waiting` to `running` owns the step, so telling and cancelling cannot both have it.
///
/// ## Who keeps whom
///
/// A list owns the links in it, and a handle owns its link. A source is owned by whoever may fire it: by its
/// handles, or, where they may not, by its ``Producer``s. Its end, or the last producer's, is its abandonment
/// (A1).
///
/// Upstream is known by an unowned pointer (``Upstream``), set only while upstream is pending: its own side
/// of the chain keeps it alive for as long, and the pointer is cleared, under the consumer's lock, before it
/// may go. So nothing points back from a settled link: there is no cycle to leak (A2), and the last handle is
/// the last reference (A1, P1, U1).
///
/// Locks nest in one place only, and there from a running link to one that waits for it.
///
/// Sound as `@unchecked Sendable`: every stored property is immutable, atomic, or read and written under the
/// lock that its comment names. `content` is the exception that makes reading fast: once `settled` has been
/// published by an unlock it never changes again, and may be read without the lock by whoever has seen that
/// bit with acquiring.
@usableFromInline
final class Link: @unchecked Sendable {
    /// The lock, the flags and the list of those that wait for this link; see `Link+Lock.swift`.
    let word: Atomic<UInt>

    /// The next in the list that this link stands in; the last one's is the first. Under the lock of the
    /// list's link, or the frame's own once it has taken the list. (A source stands in none: see `fired`.)
    @exclusivity(unchecked) var next: Unmanaged<Link>?

    /// What this link waits for, while that is pending. Under this link's lock. (A source waits for none: see
    /// `fired`.)
    @exclusivity(unchecked) var upstream: Upstream

    /// What few links need. Made once, under this link's lock.
    @exclusivity(unchecked) var rare: Rare?

    /// Where the link was made.
    let file: UnsafePointer<UInt8>

    /// First what there is to do, then the outcome. Under this link's lock until settled.
    @usableFromInline @exclusivity(unchecked) var content: Content

    /// Under this link's lock.
    @exclusivity(unchecked) var phase: Phase

    /// Under this link's lock.
    @exclusivity(unchecked) var flags: Flags

    /// What is asked without this link's lock, in the lowest three bits: see `withdrawn`, `onlyObserves` and
    /// `hasFollowed`. The others are the link's number in recordings, which no other link has; 0 until it is
    /// asked for.
    private let marks = Atomic<UInt32>(0)

    /// The thread that runs its step, or tells those in its list; while it waits for one that has fired, that
    /// one's. Or 0, or out of date where nothing of that is so. Under this link's lock. For
    /// `waits(forWhatRunsOn:)`.
    @exclusivity(unchecked) var teller: UInt

    /// Where the link was made; the highest bit says whether it is owned by handles that may fire it.
    let lineAndOwner: UInt32

    @usableFromInline
    init(
        _ phase: Phase, _ content: consuming Content, _ site: DeferredDiagnostic.Location,
        firedByHandles: Bool = false
    ) {
        word = Atomic(phase == .settled ? Word.settled : 0)
        next = nil
        upstream = .none
        rare = nil
        file = site.file
        self.content = content
        self.phase = phase
        flags = []
        teller = 0

        lineAndOwner = site.storedLine | (firedByHandles ? Link.firedByHandlesBit : 0)
        if Recording.isOn { Recording.made(self, phase) }
    }

    static let firedByHandlesBit: UInt32 = 1 << 31

    /// It has left the list that it still stands in: a consumer no more. Never taken back. Under the lock of
    /// the list's link.
    var withdrawn: Bool {
        get { marks.load(ordering: .relaxed) & 1 != 0 }
        set { if newValue { marks.bitwiseOr(1, ordering: .relaxed) } }
    }

    /// It is told as a consumer is, and is none: it neither protects from a cancel nor handles a failure. Set
    /// before it is attached.
    var onlyObserves: Bool {
        get { marks.load(ordering: .relaxed) & 4 != 0 }
        set { if newValue { marks.bitwiseOr(4, ordering: .relaxed) } }
    }

    /// It has followed another, as a source may: it may wait for more than its handles. Never taken back.
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

    /// Gives the link a number, if it has none.
    func take(number: UInt32) {
        var seen = marks.load(ordering: .relaxed)
        while seen >> 3 == 0 {
            let (exchanged, original) = marks.weakCompareExchange(
                expected: seen, desired: seen | number << 3, ordering: .relaxed)
            if exchanged { return }
            seen = original
        }
    }

    /// Where the link was made.
    var made: DeferredDiagnostic.Location {
        DeferredDiagnostic.Location(file: file, storedLine: lineAndOwner & ~Link.firedByHandlesBit)
    }

    deinit {
        switch phase {
        case .settled:
            if word.load(ordering: .acquiring) & ~Word.flags != 0 { flushAfterPause() }
            reportIfUnhandled()
        case .source:
            if word.load(ordering: .acquiring) & ~Word.flags != 0 || rare != nil { abandonAtEnd() }
        default:
            break
        }
    }
}

extension Link {
    /// What a link is doing as a consumer of another; see the protocol above.
    @usableFromInline
    enum Phase: UInt8 {
        /// Fired by hand, or by the list or the links it follows.
        case source
        /// In the list of what it waits for, or taken from it by a frame that has not come to it yet.
        case waiting
        /// Handed to a dispatcher that has not begun it.
        case handedOver
        /// Its step runs, or somebody is about to run or settle it.
        case running
        /// Its step gave a link, and it is being put into that one's list.
        case linking
        /// Has its outcome.
        case settled
        /// Nobody held it when it began to wait for another link, and what waited for it now waits for that
        /// one (L6).
        case bypassed
    }

    struct Flags: OptionSet {
        let rawValue: UInt8

        /// Cancelled while it could not be withdrawn: remembered until its turn, or until its callback has
        /// run.
        static let cancelPending = Flags(rawValue: 1)
        /// A source that was cancelled (`Resolver.isCancelled`).
        static let cancelled = Flags(rawValue: 2)
        /// A source that was cancelled: its producer's first late result is dropped in silence (C2).
        static let absorbsLateResult = Flags(rawValue: 4)
        /// Its failure has reached somebody (U1).
        static let handled = Flags(rawValue: 8)
        /// A source whose canceller runs: cancelling it again from inside does nothing (C1). Taken back by
        /// another thread that fires it meanwhile: the cancel lost that race, and goes on where the chain
        /// then stands (C5).
        static let cancellerRuns = Flags(rawValue: 32)
        /// A follower whose source fired while it was `linking`: it leaves the list as soon as it stands in
        /// it.
        static let withdrawsOnceLinked = Flags(rawValue: 64)
        /// A source whose producers have a claim on it.
        static let hasClaim = Flags(rawValue: 128)
        /// A source that does not pass its cancel on to what it follows.
        static let shielded = Flags(rawValue: 16)
    }

    @usableFromInline
    typealias Step = Content.Step
}
