/// Answered cancels: a cancel that came up to a source that follows has ended when an errback, or a canceller's value,
/// has led to something new to wait for (C5).
///
/// A source that follows keeps the cancels that came up to it, since the error has yet to come down (invariant 5 of
/// ``CancelRequest``). Between the place where the error has entered the chain and the follower there is one path, of
/// links that the cancel has passed (`Link.isPassed`). If the step of one of them returns a pending link, or a value is
/// passed to a dispatcher or held back by a pause there, the cancel was answered: nothing of that error will arrive. A
/// later cancel is a new one.
extension DrainLoop {
    /// Notes that the cancels that have passed `link`, and taken effect, were answered. Ends those that sources further
    /// down have kept for their sake; and detaches observers of lists that only waited for the end of a cancel.
    @inline(never)
    mutating func noteAnswer(at link: Link) {
        // A request that was left in the link while its step ran has not taken effect yet.
        let open = link.locked { link.coldState?.requests.map(\.root) ?? [] }
        endCancels(answeredAt: link.passedRoots.filter { root in !open.contains { $0 === root } })
    }

    /// Ends what a source that follows has kept, if its followers have answered every cancel that reached them: for a
    /// cancel that has become part of another, which was answered meanwhile.
    mutating func endAnsweredCancels(of source: Link) { endCancels(answeredAt: source.endAnsweredCancels()) }

    private mutating func endCancels(answeredAt roots: [Link]) {
        var roots = roots
        while let root = roots.popLast() {
            if root.onlyObserves {
                // A list with a limit has a link between its observer and the input.
                let upstream = root.waitedFor
                detachPending(root)
                if let upstream, upstream.onlyObserves { detachPending(upstream) }
            } else if let source = root.takeAnsweredSource() {
                roots += source.endAnsweredCancels()
            }
        }
    }
}

extension Payload {
    /// Whether a link with this step has to be notified if a cancel with it as the root is answered: it does nothing
    /// with the outcome but pass it on, to a source that follows or to a list.
    var needsAnswer: Bool { kind == .forward || kind == .observer }
}

extension Link {
    /// The roots of cancels that have passed this link, below it.
    fileprivate var passedRoots: [Link] {
        var roots: [Link] = []
        var walk = Walk(from: self)
        while walk.next({ link, others in
            let word = link.lock()
            Link.forEach(in: word) { consumer in
                guard consumer.isPassed else { return }
                let isRoot = consumer.locked { consumer.payload.needsAnswer }
                if isRoot { roots.append(consumer) } else { others.append(consumer) }
            }
            link.unlock(word)
            return nil
        }) != nil {}
        return roots
    }

    /// Ends the protection of a follower whose request has taken effect, and returns its source; nil if the request is
    /// yet to take effect.
    fileprivate func takeAnsweredSource() -> Link? {
        var protection: Protection?
        let source: Link? = locked {
            guard payload.kind == .forward, !isProtectionOpen, state.unprotect() else { return nil }
            protection = coldState?.protection.take()
            return payload.content(as: Link.self)
        }
        withExtendedLifetime(protection) {}
        return source
    }

    /// Ends the cancels kept in a source that follows, if all that reached what it follows were answered. Returns the
    /// roots of those that have to be notified.
    fileprivate func endAnsweredCancels() -> [Link] {
        // Released after the lock: they retain their roots.
        let requests: [CancelRequest] = locked {
            guard phase == .source, let coldState, coldState.beginningCancels == 0,
                !state.marks.contains(.cancellerRuns),
                !coldState.following.contains(where: { follower in
                    // One that is not waiting is about to settle the source.
                    follower.locked {
                        follower.phase != .waiting || follower.state.marks.contains(.protected)
                    }
                })
            else { return [] }
            state.endCancel()
            let requests = coldState.requests.takeAll()
            for request in requests { request.end() }
            return requests
        }
        return requests.map(\.root).filter { root in root.locked { root.payload.needsAnswer } }
    }

    /// Returns the followers among `links` and above them where a further cancel has to begin: those that no request
    /// protects that is yet to take effect. Searches past the others, up to sources that are being cancelled; not past
    /// one whose canceller runs or is about to: that may answer the cancel (C1), and what the source follows is
    /// cancelled after it.
    static func unprotectedFollowers(above links: [Link]) -> [Link] {
        var found: [Link] = []
        for link in links {
            var walk = Walk(from: link)
            while walk.next({ link, others in
                link.locked {
                    switch link.phase {
                    case .waiting:
                        if link.payload.kind != .forward || link.isProtected {
                            return link.upstream.retained()
                        }
                        found.append(link)
                    case .source
                    where link.state.marks.intersection([.cancelled, .cancellerRuns]) == .cancelled:
                        others += link.coldState?.following ?? []
                    case .source, .failing, .dispatched, .running, .settled, .bypassed:
                        break
                    }
                    return nil
                }
            }) != nil {}
        }
        return found
    }

    /// Whether this link is `other`, or waits for it through at most `steps` links, none of which was detached.
    func waits(for other: Link, within steps: Int) -> Bool {
        var link = self
        for _ in 0..<steps {
            if link === other { return true }
            guard let upstream = link.waitedFor, !link.isDetached else { return false }
            link = upstream
        }
        return link === other
    }
}
