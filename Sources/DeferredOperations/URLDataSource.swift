public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Loads what a URL names, over HTTP, into memory.
///
/// ```swift
/// URLDataSource(url).request(on: queue, deliveringOn: .main)
///     .then { page in show(page.data) }
///     .fail { error in show(error) }
/// ```
///
/// Everything that can go wrong on the way is a ``DataSourceError`` that names the URL and says what
/// happened; a cancel is `CancellationError`. No thread waits: the operation counts as under way while the
/// transfer goes on.
open class URLDataSource: ConcurrentDataSource<URLDataSource.Response>, @unchecked Sendable {
    /// What a URL named.
    public struct Response: Sendable {
        /// The body, decompressed. Empty if the server said that nothing has changed.
        public let data: Data
        /// Status and headers; its `url` is where the body came from, after redirects.
        public let response: HTTPURLResponse

        /// Whether the server answered 304 to a conditional request.
        public var isNotModified: Bool { response.statusCode == 304 }
    }

    /// What is asked for.
    public let urlRequest: URLRequest
    /// What the transfer may and may not do.
    public let options: TransferOptions
    private let session: TransferSession
    private let slot = TransferSlot()

    /// A data source for a request: any method, headers and body.
    public init(_ request: URLRequest, options: TransferOptions = .init(), session: TransferSession = .shared)
    {
        urlRequest = request
        self.options = options
        self.session = session
        super.init()
    }

    /// A data source for a plain `GET`.
    public convenience init(
        _ url: URL, options: TransferOptions = .init(), session: TransferSession = .shared
    ) {
        self.init(URLRequest(url: url), options: options, session: session)
    }

    /// When things happened; complete once the Deferred has ended.
    public final var metrics: TransferMetrics { slot.metrics }

    /// Starts the transfer. A subclass that overrides this calls `super`.
    open override func execute() throws {
        let sink = MemorySink()
        let request = try urlRequest.checked(options)
        let transfer = Transfer(request, options, session, into: sink)
        slot.run({ transfer }, requestedAt: requestedAt) { [self] outcome in
            finish(with: outcome.map { Response(data: sink.data, response: $0) })
        }
    }

    final override var host: String? { urlRequest.url?.host?.lowercased() }

    final override func cutShort() {
        slot.stop()
    }

    /// Called after a cancel has stopped the transfer, for a subclass to override.
    open override func stop() {}
}
