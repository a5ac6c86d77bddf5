/// Notes of cancels that come late: `cancelPending` in a link that could not be detached. See "A cancel that comes late" in
/// `Documentation/Engine.md`.
extension Link {
    /// Notes that this link, whose upstream is settled, is to receive `CancellationError` when it is dequeued
    /// (C5). Returns false if it no longer waits for `upstream`.
    func rememberCancel(whileWaitingFor upstream: Link) -> Bool {
        locked {
            let isPresent = self.upstream.isNone || self.upstream.identity == Upstream(upstream).identity
            guard phase == .waiting, isPresent else { return false }
            rememberCancelUntilDequeued()
            return true
        }
    }

    /// Notes the cancel, except for an observer: a list cancels pending inputs only. Under the lock.
    func rememberCancelUntilDequeued() {
        if payload.kind == .observer { return }
        flags.insert(.cancelPending)
    }

    /// Notes that this consumer, in the list of a locked link, was cancelled: an outcome of that link reaches it only if
    /// the note is removed before.
    func noteCancel() { locked { if phase == .waiting { rememberCancelUntilDequeued() } } }

    /// Removes the notes of cancels from the consumers in a list. Under the lock of the list's link.
    ///
    /// Not from detached ones, whose step runs in any case.
    static func forgetCancels(in word: UInt) {
        forEach(in: word) { consumer in
            if !consumer.isDetached { _ = consumer.locked { consumer.flags.remove(.cancelPending) } }
        }
    }

    /// Takes back the notes of a cancel that came while this link was running or `linking`: it is for the nested link now,
    /// and not for consumers (C4). Returns a consumer that it came from.
    ///
    /// - Parameter target: This link, or the source that this one follows another for. An outcome of the other one removes
    ///   the notes in the source's consumers itself.
    func takeCancel(for target: Link) -> Link? {
        let word = target.lock()
        let consumers = target.listed(in: word)
        if target === self { flags.remove(.cancelPending) }
        target.unlock(word)
        let noted = consumers.filter { consumer in
            consumer.locked {
                guard consumer.phase == .waiting, consumer.upstream.identity == Upstream(target).identity,
                    !consumer.isDetached, consumer.flags.contains(.cancelPending)
                else { return false }
                if target === self { consumer.flags.remove(.cancelPending) }
                return true
            }
        }
        if target !== self { locked { _ = flags.remove(.cancelPending) } }
        return noted.first
    }

    /// Notes that this link, which another cancel has detached and is about to run, was cancelled again.
    /// Returns false if it is running or settled.
    func rememberCancel() -> Bool {
        locked {
            guard phase == .waiting else { return false }
            flags.insert(.cancelPending)
            return true
        }
    }
}
