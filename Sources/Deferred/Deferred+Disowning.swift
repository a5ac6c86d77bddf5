extension Deferred {
    /// Has a failure of this pending Deferred concern only what is attached to it: it is never reported as unhandled
    /// when its handles are released. For the steps inside an operation of the library.
    package func disownFailure() { link.disownFailure() }

    /// Has a cancel of several Deferreds run this one's canceller before others while `isWaiting` returns true: while the
    /// work that it stops has yet to begin (C7). Called without a lock, on the thread that cancels.
    package func setIsWaiting(_ isWaiting: @escaping @Sendable () -> Bool) { link.setIsWaiting(isWaiting) }
}
