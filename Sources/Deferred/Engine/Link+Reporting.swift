extension Link {
    /// Reports a failure that has reached nobody; the last handle has gone (U1).
    @inline(__always)
    func reportIfUnhandled() {
        if content.isFailure && !flags.contains(.handled) { reportUnhandled() }
    }

    @inline(never)
    private func reportUnhandled() {
        guard let error = content.error, !(error is CancellationError) else { return }
        DeferredDiagnostics.report(.unhandledFailure(error, made: made))
    }

    @usableFromInline
    func reportNotFireable(_ site: DeferredDiagnostic.Location) {
        DeferredDiagnostics.report(.notFireable(made: made, at: site))
    }

    @usableFromInline
    func reportUnbalancedUnpause(_ site: DeferredDiagnostic.Location) {
        DeferredDiagnostics.report(.unbalancedUnpause(made: made, at: site))
    }

    /// What the link is, what it waits for and where each was made, for a person to read.
    @usableFromInline
    func describe() -> String {
        var parts: [String] = []
        var current: Link? = self
        var remaining = 16
        while let link = current {
            let (text, next) = link.describeAlone()
            parts.append(text)
            remaining -= 1
            if remaining == 0 && next != nil {
                parts.append("…")
                break
            }
            current = next
        }
        return parts.joined(separator: " ← ")
    }

    private func describeAlone() -> (String, next: Link?) {
        let word = lock()
        let isNested = content.kind == .adopt
        let phase = phase
        let upstream = phase == .waiting || phase == .linking ? upstream.retained() : nil
        let following = rare?.following.first
        let list = rare?.list
        let paused = rare.map { $0.pauses } ?? 0
        let isCancelled = flags.contains(.cancelled)
        unlock(word)

        var text: String
        var next: Link?
        switch phase {
        case .settled: text = content.describeOutcome()
        case .source:
            if let watches = list?.watches {
                let pending = watches.count { watch in watch.locked { watch.phase == .waiting } }
                text = "waits for \(pending) of a list of \(watches.count)"
            } else if let following {
                text = "follows another"
                next = following.locked { following.upstream.retained() }
            } else {
                text = isCancelled ? "cancelled, its canceller runs" : "waits to be fired"
            }
        case .handedOver: text = "its callback waits on its dispatcher"
        case .running: text = "its callback runs"
        case .waiting, .linking, .bypassed:
            text = upstream == nil ? "waits for its turn" : isNested ? "waits for a nested Deferred" : "waits"
        }
        if next == nil { next = upstream }
        if paused > 0 { text += ", paused" + (paused > 1 ? " \(paused) times" : "") }
        return ("\(text) (made at \(made))", next)
    }
}
