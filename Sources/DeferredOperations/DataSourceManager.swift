public import Deferred
internal import Foundation

/// Runs data sources, so many at once: transfers of a whole program, say.
///
/// ```swift
/// let manager = DataSourceManager(limit: 8, limitPerHost: 2)
/// let pages = addresses.map { manager.request(URLDataSource($0)) }
/// ```
///
/// Which is next is decided when there is a place: of those whose dependencies have finished, and whose host
/// has a place left, the one with the highest `queuePriority`; among equals the one requested first. A place
/// is taken until the operation has finished, the synchronous part of its chain included.
public final class DataSourceManager: Sendable {
    private let line: WaitingLine

    /// A manager with nothing to do.
    ///
    /// - Parameters:
    ///   - limit: How many may be under way at once; at least 1.
    ///   - limitPerHost: How many of these may be transfers from one host; nil for as many as `limit`. Other data sources than
    ///     those for URLs have no host.
    public init(limit: Int = 4, limitPerHost: Int? = nil) {
        line = WaitingLine(limit: max(1, limit), limitPerHost: limitPerHost.map { max(1, $0) })
    }

    /// Runs a data source when there is a place for it; as `request(on:deliveringOn:)` of the data source
    /// itself.
    ///
    /// After ``stop()`` the Deferred fails with ``DataSourceError/managerStopped``.
    public func request<Value: Sendable>(
        _ source: RequestOperation<Value>, deliveringOn dispatcher: (any Dispatcher)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        guard self.line.mayEnter(source) else {
            return .rejected(DataSourceError.managerStopped, fileID: fileID, line: line)
        }
        return source.request(
            deliveringOn: dispatcher, withPlaceIn: nil, observer: self.line, fileID, line,
            submit: self.line.enter)
    }

    /// How many may be under way at once. A lower limit holds for those to come; what is under way goes on.
    public var limit: Int {
        get { line.limit }
        set { line.limit = max(1, newValue) }
    }

    /// How many may be under way at once from one host; nil for as many as ``limit``.
    public var limitPerHost: Int? {
        get { line.limitPerHost }
        set { line.limitPerHost = newValue.map { max(1, $0) } }
    }

    /// How many are under way.
    public var underWay: Int { line.underWay }

    /// How many wait for a place or a dependency.
    public var waiting: Int { line.waiting }

    /// Whether anything is under way, as a status bar's indicator shows it.
    public var isNetworkInUse: Bool { line.underWay > 0 }

    /// ``isNetworkInUse`` now, and whenever it changes. Ends when the manager has stopped or has gone.
    public var networkUse: AsyncStream<Bool> { line.uses.stream() }

    /// Cancels everything, under way or not, and takes no more. The Deferred fires when all of it has
    /// finished.
    ///
    /// Stopping again gives another Deferred that fires then, too.
    public func stop() -> Deferred<Void> {
        line.stop()
    }
}
