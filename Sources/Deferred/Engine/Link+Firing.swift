/// Sources: how they are fired by hand, and what becomes of them when nobody is left to do it.
extension Link {
    /// Fires the source, runs its callbacks, and says whether this call fired it (F1, F2).
    @usableFromInline
    func fire(_ outcome: consuming Content, _ site: DeferredDiagnostic.Location) -> Bool {
        if Recording.isOn { return fireRecorded(outcome, site) }
        return fireNow(outcome, site)
    }

    @inline(never)
    private func fireRecorded(_ outcome: consuming Content, _ site: DeferredDiagnostic.Location) -> Bool {
        var outcome = outcome
        return Recording.during(.firing(at: site), of: self) {
            var taken = Content.none
            swap(&taken, &outcome)
            return fireNow(taken, site)
        }
    }

    @inline(__always)
    private func fireNow(_ outcome: consuming Content, _ site: DeferredDiagnostic.Location) -> Bool {
        let word = lock()
        guard phase == .source else {
            let isAbsorbed = flags.remove(.absorbsLateResult) != nil
            let first = fired
            unlock(word)
            if !isAbsorbed {
                DeferredDiagnostics.report(.alreadyFired(made: made, firedFirst: first, again: site))
            }
            return false
        }
        let claim = takeClaim()
        let flags = flags
        fired = site
        var frame = Frame()
        frame.finish(self, word, outcome)
        claim?.end(self, flags, fired: site)
        frame.run()
        return true
    }

    /// Whether the source was cancelled (C2).
    @usableFromInline
    var isCancelled: Bool { locked { flags.contains(.cancelled) } }

    /// The last producer has gone.
    func abandon() { Abandonment.run(self) }

    fileprivate func abandonNow() {
        let word = lock()
        // A cancel that is under way settles it; what it follows still may.
        let isFollowing = rare.map { !$0.following.isEmpty } ?? false
        guard phase == .source, !flags.contains(.cancelled), !isFollowing else { return unlock(word) }
        flags.insert(.handled)
        var frame = Frame()
        frame.finish(self, word, .failure(DeferredError.abandoned))
        frame.run()
    }

    /// The last handle of a pending source has gone. Called from `deinit`: a stand-in fails in its place.
    func abandonAtEnd() {
        let standIn = Link(.bypassed, .none, made)
        standIn.phase = .source
        if Recording.isOn { standIn.take(number: numbered()) }
        standIn.rare = rare.take()
        // Whoever could unpause it has gone too (P1).
        standIn.word.store(word.load(ordering: .relaxed) & ~Word.flags, ordering: .relaxed)
        word.store(0, ordering: .relaxed)
        standIn.abandon()
    }
}

/// The abandonments under way on one thread, one within another: what a callback holds goes with it, and may
/// be the last hold on another source, and so on a million times. To some depth each is done within the one
/// before, so that it is over when the handle has gone; those further down wait for the deepest to be done
/// (F6).
private struct Abandonment {
    private static let slot = ThreadSlot()
    private static let greatestDepth = 16

    private var depth = 0
    private var waiting: [Link] = []

    static func run(_ link: Link) {
        if let outermost = slot.value?.assumingMemoryBound(to: Abandonment.self) {
            return run(link, in: outermost)
        }
        var abandonment = Abandonment()
        withUnsafeMutablePointer(to: &abandonment) { outermost in
            slot.value = UnsafeMutableRawPointer(outermost)
            defer { slot.value = nil }
            run(link, in: outermost)
        }
    }

    private static func run(_ link: Link, in outermost: UnsafeMutablePointer<Abandonment>) {
        guard outermost.pointee.depth < greatestDepth else {
            outermost.pointee.waiting.append(link)
            return
        }
        outermost.pointee.depth += 1
        link.abandonNow()
        while outermost.pointee.depth == greatestDepth, let next = outermost.pointee.waiting.popLast() {
            next.abandonNow()
        }
        outermost.pointee.depth -= 1
    }
}
