/// The right to fire a source, for those that are not fired by their handles: shared by the copies of a
/// ``Resolver``. When the last of them goes nothing is left that could fire the source, and it fails with
/// ``DeferredError/abandoned`` (A1).
@usableFromInline
final class Producer: Sendable {
    private let claim: Claim

    /// A canceller's own right to fire ends with the cancel, which settles the source in any case.
    private let abandons: Bool

    /// The producer of a new source.
    @usableFromInline
    init(_ link: Link) {
        claim = Claim(link)
        abandons = true
        link.keep(claim)
    }

    @usableFromInline
    init(forCancellerOf link: Link) {
        // The producers' own, where there is one: of their late results and the canceller's one is dropped
        // (C2).
        claim = link.locked { link.claim } ?? Claim(link)
        abandons = false
    }

    deinit {
        if abandons { source?.abandon() }
    }

    /// The source, while it is pending.
    @usableFromInline
    var source: Link? { claim.source }

    /// Whether the source was cancelled (C2).
    @usableFromInline
    var isCancelled: Bool { claim.isCancelled }

    /// Fires the source; see `Link.fire`.
    @usableFromInline
    func fire(_ outcome: consuming Link.Content, _ site: DeferredDiagnostic.Location) -> Bool {
        guard let source else {
            claim.reportLate(site)
            return false
        }
        return source.fire(outcome, site)
    }
}

/// What keeps a source alive for its producers while it is pending. The source knows its claim, and ends it
/// when it settles, whoever it was that fired it: from then on its handles are all that keeps it.
final class Claim: Sendable {
    private enum State {
        case pending(Link)
        case settled(Late)
    }

    /// What is to be known when a source that has settled is fired again.
    private struct Late {
        let made: DeferredDiagnostic.Location
        let fired: DeferredDiagnostic.Location?
        let wasCancelled: Bool
        /// The first late result after a cancel is dropped without a word (C2).
        var isAbsorbed: Bool
    }

    private let state: Guarded<State>

    init(_ link: Link) { state = Guarded(.pending(link)) }

    var source: Link? {
        state.withLock { if case .pending(let link) = $0 { link } else { nil } }
    }

    var isCancelled: Bool {
        if let source { return source.isCancelled }
        return state.withLock { if case .settled(let late) = $0 { late.wasCancelled } else { false } }
    }

    /// The source has settled, with these flags.
    func end(_ source: Link, _ flags: Link.Flags, fired: DeferredDiagnostic.Location?) {
        let late = Late(
            made: source.made, fired: fired, wasCancelled: flags.contains(.cancelled),
            isAbsorbed: flags.contains(.absorbsLateResult))
        let before = state.withLock { state in
            let before = state
            state = .settled(late)
            return before
        }
        // What it held goes after the lock: it may be the last reference.
        _ = consume before
    }

    func reportLate(_ site: DeferredDiagnostic.Location) {
        let late: Late? = state.withLock { state in
            guard case .settled(var late) = state else { return nil }
            let answer = late
            late.isAbsorbed = false
            state = .settled(late)
            return answer
        }
        guard let late, !late.isAbsorbed else { return }
        DeferredDiagnostics.report(.alreadyFired(made: late.made, firedFirst: late.fired, again: site))
    }
}

extension Link {
    /// Gives a new source the claim of its producers, to be ended when it settles.
    ///
    /// A pending source stands in no list, so this is kept, retained, in the word that others use for that.
    fileprivate func keep(_ claim: Claim) {
        next = Unmanaged.fromOpaque(Unmanaged.passRetained(claim).toOpaque())
        flags.insert(.hasClaim)
    }

    /// The claim, while the source is pending. Under its lock.
    fileprivate var claim: Claim? {
        guard flags.contains(.hasClaim), let kept = next else { return nil }
        return Unmanaged<Claim>.fromOpaque(kept.toOpaque()).takeUnretainedValue()
    }

    /// Takes the claim, for the one who settles the source. Under its lock.
    func takeClaim() -> Claim? {
        guard flags.remove(.hasClaim) != nil, let kept = next else { return nil }
        next = nil
        return Unmanaged<Claim>.fromOpaque(kept.toOpaque()).takeRetainedValue()
    }
}
