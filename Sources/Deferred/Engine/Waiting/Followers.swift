/// Followers that are of no use any more leave what they followed, so that any number of them beside one link that
/// lives on takes constant memory (K2).
extension DrainLoop {
    /// Detaches the links by which a source, now settled, followed others. A cancel of the source reaches all
    /// that it followed (C7), unless its canceller has answered it: also where something else has settled the source
    /// while its canceller ran, or before that began.
    ///
    /// - Parameters:
    ///   - state: What the source was before.
    ///   - isCancelled: Whether a cancel of the source was in progress that its canceller has not answered.
    mutating func stopFollowing(_ followers: [Link], as state: LinkState, isCancelled: Bool) {
        for follower in followers {
            if state.marks.contains(.shielded) {
                leaveShield(follower)
            } else if isCancelled || !detachPending(follower) {
                follower.replaceStepWithNoOp()
            }
        }
        guard isCancelled else { return }
        // One that is being cancelled is left to that cancel, which would be walked again to its end.
        let others = followers.filter { follower in follower.locked { !follower.isProtected } }
        begin(others.map { CancelRequest($0) })
    }

    /// Ends the follower of a shield that has ended. Its upstream keeps a consumer, so that a cancel by others does not
    /// end what is shielded (C3): one, however many shields there were.
    mutating func leaveShield(_ follower: Link) {
        let upstream = follower.waitedFor
        let isFirst = upstream?.setsFlagFirst(Link.Flags.isShielded) ?? true
        if isFirst || !detachPending(follower) { follower.replaceStepWithNoOp() }
    }
}

extension Link {
    /// Sets a flag, and returns whether it was not set before.
    fileprivate func setsFlagFirst(_ flag: UInt32) -> Bool {
        flags.bitwiseOr(flag, ordering: .acquiringAndReleasing).oldValue & flag == 0
    }

    /// Counts one more follower, where there are other consumers, and removes those of no use after as many new ones as
    /// consumers remained the last time, each of which is looked at: constant time on average (K1).
    func noteFollower(in loop: inout DrainLoop) {
        if word.load(ordering: .relaxed) & ~Word.flags == 0 { return }
        let coldState = ensureColdState()
        let isDue = locked {
            coldState.followersUntilRemoval &-= 1
            return coldState.followersUntilRemoval == 0
        }
        if isDue { removeUselessFollowers(in: &loop) }
    }

    /// Removes the followers of this pending link whose source has no handle, no resolver, no consumer and no
    /// finalizer: nothing could tell whether it is settled.
    private func removeUselessFollowers(in loop: inout DrainLoop) {
        var useless: [Link] = []
        locked {
            guard let coldState else { return }
            coldState.followersUntilRemoval = 16
            if phase == .settled { return }
            var count = 0
            Link.forEach(in: word.load(ordering: .relaxed)) { consumer in
                count += 1
                consumer.locked {
                    guard consumer.phase == .waiting, consumer.payload.kind == .forward else { return }
                    if consumer.payload.forwardsToUseless { useless.append(consumer) }
                }
            }
            let remaining = count - useless.count
            coldState.followersUntilRemoval = UInt16(clamping: max(16, remaining))
        }
        for follower in useless {
            if follower.locked({ follower.isShieldsFollower }) {
                loop.leaveShield(follower)
            } else if !loop.detachPending(follower) {
                follower.replaceStepWithNoOp()
            }
        }
    }

    /// Whether the source that this link follows for is a shield. Under the lock.
    private var isShieldsFollower: Bool {
        payload.kind == .forward && payload.content(as: Link.self).state.marks.contains(.shielded)
    }
}

extension Payload {
    /// Whether the source of a follower with this payload is of no use. Under the follower's lock, under which alone
    /// another reference to the source could be made, if there is none.
    ///
    /// Sound: the first word is a reference to the source. Where that is the only one, no other thread accesses the
    /// source.
    fileprivate var forwardsToUseless: Bool {
        guard let address = UnsafeRawPointer(bitPattern: bits.0) else { return false }
        let source = Unmanaged<Link>.fromOpaque(address)
        guard source.isUniquelyReferenced else { return false }
        return source._withUnsafeGuaranteedRef { source in
            guard source.phase == .source, source.word.load(ordering: .relaxed) & ~Word.flags == 0,
                let coldState = source.coldState
            else { return false }
            return coldState.following.count == 1 && coldState.finalizers.isEmpty
                && coldState.whenSettled.isEmpty && coldState.requests.isEmpty && coldState.list == nil
                && coldState.retainedScope == nil
        }
    }
}
