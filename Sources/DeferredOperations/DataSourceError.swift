/// What a data source fails with, apart from `CancellationError` and what a subclass throws.
public enum DataSourceError: Error {
    /// An operation was requested for the second time.
    case alreadyRequested
    /// A subclass does not override what it has to.
    case notOverridden(String)
}
