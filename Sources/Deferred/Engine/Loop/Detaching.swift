/// Detaching a link without cancelling what it waits for.
extension Link {
    /// Stops waiting, and cancels nothing; stays in a list that is being drained, with nothing to do. Returns
    /// false if the step has been taken, and runs or has run.
    func stopWaiting() -> Bool {
        DrainLoop.with { $0.detachPending(self) || replaceStepWithNoOp() }
    }

    /// Replaces the step of this link with a no-op; the link stays queued as a consumer. Returns false if the
    /// step has been taken already.
    @discardableResult
    func replaceStepWithNoOp() -> Bool {
        let word = lock()
        let isWaiting = phase == .waiting
        let released = isWaiting ? exchangePayload(with: .noOp) : .none
        unlock(word)
        _ = consume released
        return isWaiting
    }
}

extension Link {
    /// Whether a cancel that came before is what will end this waiting link, as far as can be known: it has yet
    /// to take effect further up, or its error has yet to arrive.
    var isBeingCancelled: Bool { isBeingCancelled(apartFrom: nil) }

    /// As `isBeingCancelled`, as far as `excluded` has no part in that.
    func isBeingCancelled(apartFrom excluded: Link?) -> Bool {
        finds { link, isFound in
            if link === excluded { return nil }
            return link.locked {
                let hasRequests = link.coldState?.requests.contains { $0.root !== link && $0.isOpen } ?? false
                isFound =
                    switch link.phase {
                    // One that another thread takes out of this cycle meanwhile is detached, but not by a cancel.
                    case .waiting, .dispatched:
                        link.isInterrupted || link.isDetachedByCancel || hasRequests
                    case .running: hasRequests || link.isDetachedByCancel
                    case .source: hasRequests || link.state.marks.contains(.cancelled)
                    // What a pause suspends does not have it yet.
                    case .settled: link.payload.isCancellation && !link.isSuspended
                    case .failing: true
                    case .bypassed: false
                    }
                return link.phase == .waiting ? link.upstream.retained() : nil
            }
        }
    }
}

extension DrainLoop {
    /// Detaches a waiting link from what it waits for, without cancelling that, and settles it: with an empty
    /// value, or if it has closed a cycle, with that error. Returns false if upstream is settled.
    @discardableResult
    mutating func detachPending(_ link: Link, isCyclic: Bool = false) -> Bool {
        guard let upstream = link.waitedFor, upstream.detach(link) else { return false }
        defer { withExtendedLifetime(upstream) {} }
        // Asked after the link was detached, so that of this and a cancel that takes effect in the cycle at the same
        // time one sees the other.
        let isCancelled = isCyclic && upstream.isBeingCancelled(apartFrom: link)
        let scope = upstream.scopeOfSuspended()
        let linkWord = link.lock()
        guard link.phase == .waiting else {
            link.unlock(linkWord)
            return true
        }
        let outcome: Payload =
            isCancelled ? .failure(CancellationError()) : isCyclic ? link.failure(.cycle) : .value(())
        _ = link.begin(on: thread)
        let step = link.exchangePayload(with: .none)
        finish(link, linkWord, outcome, isAnswered: isCyclic)
        _ = consume step
        withExtendedLifetime(scope) {}
        return true
    }
}
