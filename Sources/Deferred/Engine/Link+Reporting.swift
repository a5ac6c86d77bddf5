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
}
