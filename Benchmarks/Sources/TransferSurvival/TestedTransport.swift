import DeferredOperations

/// The transport that is tried. The package `Integrations` has the same program with another one.
enum TestedTransport {
    static let session = TransferSession.shared
    /// Whether it has the faults of Foundation on Linux: answers that stop the process, and waiting that takes a processor.
    static let hasFaults = true
}
