/// Cancelling: up from a link to the source of what only it consumes, and the error comes back down (C1-C5).
extension Frame {
    mutating func cancel(_ start: Link) {
        var start = start
        var link = start
        /// The consumer of `link` through which the cancel came, if it came from further down.
        var origin: Link?
        while true {
            let word = link.lock()
            switch link.phase {
            case .settled, .bypassed:
                link.unlock(word)
                // Fired, or bypassed, in the meantime: the cancel takes effect where the chain then stands.
                guard let consumer = origin else { return }
                if consumer.rememberCancel(whileWaitingFor: link) { return }
                link = start
                origin = nil

            case .source:
                switch cancelSource(link, word) {
                case .done:
                    return
                case .follows(let follower):
                    start = follower
                    link = follower
                case .comesLate:
                    guard let consumer = origin, !consumer.rememberCancel(whileWaitingFor: link) else {
                        return
                    }
                    link = start
                }
                origin = nil

            case .handedOver, .linking:
                link.flags.insert(.cancelPending)
                return link.unlock(word)

            case .running:
                link.flags.insert(.cancelPending)
                // If the callback gives a value, the one that was cancelled still must not run with it.
                if let origin {
                    origin.locked { if origin.phase == .waiting { origin.flags.insert(.cancelPending) } }
                }
                return link.unlock(word)

            case .waiting:
                guard let upstream = link.upstream.retained() else {
                    link.rememberCancelAtTurn()
                    return link.unlock(word)
                }
                link.unlock(word)
                switch upstream.release(link) {
                case .onlyConsumer:
                    origin = link
                    link = upstream
                case .withdrawn:
                    return claim(link, from: consume upstream)
                case .withdrewBefore:
                    // Another cancel has it. If its errback recovers with a pending Deferred, this one is for
                    // that.
                    if link.rememberCancel() { return }
                    link = start
                    origin = nil
                case .fired:
                    if link.rememberCancel(whileWaitingFor: upstream) { return }
                    link = start
                    origin = nil
                case .bypassed:
                    link = start
                    origin = nil
                }
            }
        }
    }

    /// Takes a waiting link's step and runs it with `CancellationError`, as if that had come from upstream.
    ///
    /// `upstream`, which it withdrew from, is held until the pointer to it has been cleared, and not while
    /// the step runs.
    private mutating func claim(_ link: Link, from upstream: consuming Link) {
        var link = link
        let word = link.lock()
        guard link.phase == .waiting else { return link.unlock(word) }
        let content = link.startRunning(on: thread)
        link.unlock(word)
        withExtendedLifetime(upstream) {}
        _ = consume upstream
        performCancelled(content, on: &link)
    }

    private enum SourceCancel {
        case done
        /// It follows another, by this link, and the cancel goes on there.
        case follows(Link)
        /// It is about to fire, or was fired by another thread while its canceller ran.
        case comesLate
    }

    /// Runs a pending source's canceller, once, and fails it if that did not fire it. Its lock is held.
    private mutating func cancelSource(_ source: Link, _ word: UInt) -> SourceCancel {
        guard !source.flags.contains(.cancellerRuns) else {
            source.unlock(word)
            return .done
        }
        if !source.flags.contains(.cancelled) { source.flags.insert([.cancelled, .absorbsLateResult]) }
        if let list = source.rare?.list {
            source.unlock(word)
            guard list.detach() else { return .comesLate }
            _ = fire(source, .failure(CancellationError()))
            enqueue(.cancelInputs(list))
            return .done
        }
        guard let rare = source.rare, let canceller = rare.canceller.take() else {
            return cancelBareSource(source, word)
        }

        source.flags.insert(.cancellerRuns)
        rare.cancellerThread = thread
        source.unlock(word)
        if Recording.isOn {
            Recording.during(.canceller, of: source) { canceller(source) }
        } else {
            canceller(source)
        }
        let newWord = source.lock()
        let wasOvertaken = source.flags.remove(.cancellerRuns) == nil
        guard source.phase == .source else {
            source.unlock(newWord)
            return wasOvertaken ? .comesLate : .done
        }
        return cancelBareSource(source, newWord)
    }

    /// Fails a source in the critical section in which it was found pending, so that no firing comes between
    /// (C5); or goes on to what it follows.
    private mutating func cancelBareSource(_ source: Link, _ word: UInt) -> SourceCancel {
        let following = source.flags.contains(.shielded) ? [] : source.rare?.following ?? []
        guard let followed = following.first else {
            finish(source, word, .failure(CancellationError()))
            return .done
        }
        source.unlock(word)
        for other in following.dropFirst() { enqueue(.cancel(other)) }
        return .follows(followed)
    }

    /// Takes a link that watches or fires another out of what it waits for, without cancelling that. If its
    /// turn is to come anyway, it has nothing to do then.
    mutating func withdraw(_ link: Link) {
        if !withdraw(link, settlingWith: .value(())) { link.goOnConsuming() }
    }

    /// Takes a waiting link out of what it waits for, without cancelling that, and settles it. False if that
    /// has fired.
    @discardableResult
    mutating func withdraw(_ link: Link, settlingWith outcome: consuming Link.Content) -> Bool {
        let upstreamNow: Link? = link.locked {
            switch link.phase {
            case .waiting:
                return link.upstream.retained()
            case .linking:
                link.flags.insert(.withdrawsOnceLinked)
                return nil
            default:
                return nil
            }
        }
        guard let upstream = upstreamNow else { return false }
        defer { withExtendedLifetime(upstream) {} }
        let word = upstream.lock()
        guard word & Word.settled == 0, upstream.phase != .bypassed, !link.withdrawn else {
            upstream.unlock(word)
            return false
        }
        link.withdrawn = true
        var newWord = word
        let isUnlinked = upstream.unlink(link, word: &newWord)
        upstream.unlock(newWord)
        if !isUnlinked { upstream.noteWithdrawal() }
        let linkWord = link.lock()
        guard link.phase == .waiting else {
            link.unlock(linkWord)
            return true
        }
        let content = link.startRunning(on: thread)
        finish(link, linkWord, outcome)
        _ = consume content
        return true
    }
}

extension Link {
    fileprivate enum Release {
        case onlyConsumer, withdrawn, withdrewBefore, fired, bypassed
    }

    /// Lets a consumer that is cancelled go, unless it is the last: then this link is to be cancelled too.
    /// Decided under this link's lock, so that of two that leave at once one is the last.
    fileprivate func release(_ consumer: Link) -> Release {
        var word = lock()
        if phase == .bypassed {
            unlock(word)
            return .bypassed
        }
        if word & Word.settled != 0 {
            unlock(word)
            return .fired
        }
        if consumer.withdrawn {
            unlock(word)
            return .withdrewBefore
        }
        var dropped: [Unmanaged<Link>] = []
        let isWithdrawn = hasConsumer(besides: consumer, word: &word, dropped: &dropped)
        var isUnlinked = false
        if isWithdrawn {
            consumer.withdrawn = true
            isUnlinked = unlink(consumer, word: &word)
        }
        unlock(word)
        for link in dropped { link.release() }
        if isWithdrawn && !isUnlinked { noteWithdrawal() }
        return isWithdrawn ? .withdrawn : .onlyConsumer
    }

    /// `upstream` has fired and this link's turn has not come: it will get `CancellationError` at its turn
    /// (C5). False if it no longer waits for `upstream`.
    fileprivate func rememberCancel(whileWaitingFor upstream: Link) -> Bool {
        locked {
            let isPresent = self.upstream.isNone || self.upstream.identity == Upstream(upstream).identity
            guard phase == .waiting, isPresent else { return false }
            rememberCancelAtTurn()
            return true
        }
    }

    /// A list cancels those of its inputs that are pending; one that has fired it still takes. Under the
    /// lock.
    fileprivate func rememberCancelAtTurn() {
        if content.kind == .watch { return }
        flags.insert(.cancelPending)
    }

    /// This link has withdrawn and is about to be claimed: the cancel is for what its errback makes of it.
    /// False if it is past that.
    fileprivate func rememberCancel() -> Bool {
        locked {
            guard phase == .waiting else { return false }
            flags.insert(.cancelPending)
            return true
        }
    }

    /// Cancels this link, and runs what that sets off.
    @usableFromInline
    func cancel() {
        if Recording.isOn { return Recording.during(.cancelling, of: self) { cancelNow() } }
        cancelNow()
    }

    private func cancelNow() {
        var frame = Frame()
        frame.cancel(self)
        frame.run()
    }
}
