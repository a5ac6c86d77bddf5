extension Deferred {
    /// Has a failure of this pending Deferred concern only what is attached to it: it is never reported as unhandled
    /// when its handles are released. For the steps inside an operation of the library.
    package func disownFailure() { link.disownFailure() }
}
