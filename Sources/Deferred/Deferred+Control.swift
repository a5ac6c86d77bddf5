extension Deferred {
    /// Cancels what this position waits for, and nothing that somebody else consumes.
    ///
    /// - A pending source runs its canceller, once; if that does not fire it, it fails with
    ///   `CancellationError`.
    /// - A later position cancels what it waits for, straight or nested, if nobody else consumes that, and so
    ///   on up to the source, and the error comes down the chain. If others do consume it, they go on
    ///   undisturbed, and this position alone sees `CancellationError`, as if that had come from upstream.
    /// - A Deferred that has fired stays as it is. A callback that is running is let finish; a pending
    ///   Deferred that it returns is cancelled at once.
    ///
    /// A *consumer* of a Deferred is everything attached to it that has not settled: a callback, an `await`,
    /// a list, a chain that waits for it. Cancellers and errbacks run on this thread. Safe from any thread;
    /// cancelling twice does no harm.
    @inlinable
    public func cancel() { link.cancel() }

    /// Holds back everything attached to this Deferred until ``unpause(fileID:line:)``.
    ///
    /// It may fire, and `currentResult` shows it, but callbacks, awaits, lists and chains that wait for it
    /// are not told. Called from inside a callback, it holds from the next one on. What is upstream runs on.
    /// Pauses nest. When the last handle to this Deferred goes, it counts as unpaused.
    @inlinable
    public func pause() { link.pause() }

    /// Undoes one ``pause()``; the last tells what was held back, on this thread, before it returns.
    ///
    /// One too many is ignored, and reported as ``DeferredDiagnostic/unbalancedUnpause(made:at:)``.
    @inlinable
    public func unpause(fileID: StaticString = #fileID, line: UInt = #line) {
        if !link.unpause() {
            link.reportUnbalancedUnpause(DeferredDiagnostic.Location(fileID: fileID, line: line))
        }
    }

    /// A Deferred with the same outcome, whose cancel never reaches this one.
    ///
    /// Cancelled, it fails with `CancellationError` at once; but it stays a consumer of this one until this
    /// one settles, so that others who cancel do not end what was to be shielded.
    @inlinable
    public func shielded(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Value> {
        Deferred(link.shielded(DeferredDiagnostic.Location(.shielded, fileID, line)))
    }
}

extension Link {
    /// A source that follows this link, and does not withdraw when it is cancelled.
    @usableFromInline
    func shielded(_ site: DeferredDiagnostic.Location) -> Link {
        let shield = Link(.source, .none, site)
        shield.flags.insert(.shielded)
        shield.follow(self)
        return shield
    }

    /// What this link was to tell is over: it stays in upstream's list, with nothing to do, until its turn
    /// comes.
    func goOnConsuming() {
        var content = Content.consume
        let word = lock()
        if phase == .waiting || phase == .linking { swap(&content, &self.content) }
        unlock(word)
    }
}
