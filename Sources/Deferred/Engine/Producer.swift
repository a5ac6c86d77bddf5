/// The right to fire a source, shared by the handles that may: when the last of them goes nothing is left that could
/// fire it, and the source fails with ``DeferredError/abandoned`` (A1).
///
/// Sound as `@unchecked Sendable`: `fired` is read and written under the link's lock, the rest never changes.
@usableFromInline
final class Producer: @unchecked Sendable {
    @usableFromInline let link: Link

    /// Where it was fired, when it was fired by this one.
    var fired: DeferredDiagnostic.Location?

    /// A canceller's own right to fire ends with the cancel, which settles the source in any case.
    private let abandons: Bool

    @usableFromInline
    init(_ link: Link) {
        self.link = link
        abandons = true
    }

    @usableFromInline
    init(forCancellerOf link: Link) {
        self.link = link
        abandons = false
    }

    deinit {
        if abandons { link.abandon() }
    }
}

extension Producer {
    /// Fires the source, runs its callbacks, and says whether this call fired it (F1, F2).
    @usableFromInline
    func fire(_ outcome: consuming Link.Content, _ site: DeferredDiagnostic.Location) -> Bool {
        let word = link.lock()
        guard link.phase == .source else {
            let absorbed = link.flags.remove(.absorbsLateResult) != nil
            let firstFired = fired
            link.unlock(word)
            if !absorbed {
                DeferredDiagnostics.report(
                    .alreadyFired(made: link.made, firedFirst: firstFired, again: site))
            }
            return false
        }
        fired = site
        var frame = Frame()
        frame.finish(link, word, outcome)
        frame.run()
        return true
    }

    /// Whether the source was cancelled (C2).
    @usableFromInline
    var isCancelled: Bool { link.locked { link.flags.contains(.cancelled) } }
}

extension Link {
    /// Nothing is left that could fire this source.
    fileprivate func abandon() {
        let word = lock()
        // A cancel that is under way settles it; what it follows still may.
        let isFollowing = rare.map { !$0.following.isEmpty } ?? false
        guard phase == .source, !flags.contains(.cancelled), !isFollowing else { return unlock(word) }
        flags.insert(.handled)
        var frame = Frame()
        frame.finish(self, word, .failure(DeferredError.abandoned))
        frame.run()
    }
}
