/// The right to fire a source, for those that are not fired by their handles: shared by the copies of a ``Resolver``. When the
/// last of them goes nothing is left that could fire the source, and it fails with ``DeferredError/abandoned`` (A1).
///
/// Once it has fired, it lets go of the source, whose handles are then all that keeps that.
@usableFromInline
final class Producer: Sendable {
    private enum State {
        case owning(Link)
        case fired(Late)
    }

    /// What is to be known when a source that has been let go is fired again.
    private struct Late {
        let made: DeferredDiagnostic.Location
        let fired: DeferredDiagnostic.Location
        let wasCancelled: Bool
        /// The first late result after a cancel is dropped without a word (C2).
        var isAbsorbed: Bool
    }

    private let state: Guarded<State>

    /// A canceller's own right to fire ends with the cancel, which settles the source in any case.
    private let abandons: Bool

    @usableFromInline
    init(_ link: Link) {
        state = Guarded(.owning(link))
        abandons = true
    }

    @usableFromInline
    init(forCancellerOf link: Link) {
        state = Guarded(.owning(link))
        abandons = false
    }

    deinit {
        if abandons { source?.abandon() }
    }

    /// The source, unless this has fired it.
    @usableFromInline
    var source: Link? {
        state.withLock { if case .owning(let link) = $0 { link } else { nil } }
    }

    /// Whether the source was cancelled (C2).
    @usableFromInline
    var isCancelled: Bool {
        if let source { return source.isCancelled }
        return state.withLock { if case .fired(let late) = $0 { late.wasCancelled } else { false } }
    }

    /// Fires the source; see `Link.fire`.
    @usableFromInline
    func fire(_ outcome: consuming Link.Content, _ site: DeferredDiagnostic.Location) -> Bool {
        guard let source else {
            reportLate(site)
            return false
        }
        guard source.fire(outcome, site) else { return false }
        // A canceller's result is none of the producer's: the source goes on knowing what to do with that.
        guard abandons else { return true }
        let (wasCancelled, isAbsorbed) = source.locked {
            (source.flags.contains(.cancelled), source.flags.remove(.absorbsLateResult) != nil)
        }
        let late = Late(made: source.made, fired: site, wasCancelled: wasCancelled, isAbsorbed: isAbsorbed)
        // What it held goes after the lock: it may be the last reference.
        let before = state.withLock { state in
            let before = state
            state = .fired(late)
            return before
        }
        _ = consume before
        return true
    }

    private func reportLate(_ site: DeferredDiagnostic.Location) {
        let late: Late? = state.withLock { state in
            guard case .fired(var late) = state else { return nil }
            let answer = late
            late.isAbsorbed = false
            state = .fired(late)
            return answer
        }
        guard let late, !late.isAbsorbed else { return }
        DeferredDiagnostics.report(.alreadyFired(made: late.made, firedFirst: late.fired, again: site))
    }
}
