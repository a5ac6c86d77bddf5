/// Whether a list that cancels what remains waits for a link (C7). A semaphore asks it each time a permit is released; so
/// what leads to such a list is flagged when it comes to do so, and the others, however many wait for them, are not
/// searched (K1).
///
/// A link is flagged, and all that it waits for, when a list that cancels what remains observes it, or when one that is
/// flagged comes to wait for it: as a nested Deferred, by following it, or as a list whose inputs they are. Each link is
/// flagged once. The flag stays when the list has left; so what is flagged is asked whether the list is still there.
extension Link {
    var mayLeadToCancellingList: Bool {
        flags.load(ordering: .relaxed) & Flags.mayLeadToCancellingList != 0
    }

    /// Flags this link and what it waits for.
    ///
    /// Of a thread that flags a link and one that makes it wait for another at the same moment, one flags the other: the
    /// flag is set before what the link waits for is read under its lock, and read after that was set under this lock.
    func noteLeadsToCancellingList() {
        var walk = Walk(from: self)
        while walk.next({ link, others in
            if link.mayLeadToCancellingList { return nil }
            link.set(Flags.mayLeadToCancellingList)
            let word = link.lock()
            let upstream = link.phase == .waiting ? link.upstream.retained() : nil
            let coldState = link.phase == .source ? link.coldState : nil
            let (following, list) = (coldState?.following ?? [], coldState?.list)
            link.unlock(word)
            others += following + (list?.observers ?? [])
            return upstream
        }) != nil {}
    }

    /// Whether a list that cancels what remains waits for this link, directly or by way of others. Also true where that
    /// would take long to find out, after lists have left.
    var leadsToCancellingList: Bool {
        guard mayLeadToCancellingList else { return false }
        var walk = Walk(from: self)
        var isFound = false
        walk.visit(64) { link, others in
            guard link.mayLeadToCancellingList else { return .end }
            isFound = link.locked {
                link.payload.kind == .observer && link.payload.content(as: SourceList.self).cancelsRemaining
            }
            return isFound ? .stop : link.waitedForBy(&others, 64)
        }
        return isFound || !walk.isOver
    }
}
