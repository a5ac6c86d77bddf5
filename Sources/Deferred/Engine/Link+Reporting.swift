extension Link {
    /// Reports a failure that has reached nobody; the last handle has gone (U1).
    @inline(__always)
    func reportIfUnhandled() {
        if content.isFailure && !flags.contains(.handled) { reportUnhandled() }
    }

    /// What this link fails with is none of its handles' concern, but of those alone who wait for it.
    func disownFailure() {
        locked { _ = flags.insert(.handled) }
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
}
