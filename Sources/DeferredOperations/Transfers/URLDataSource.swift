public import Foundation

// Sound as `@unchecked Sendable`: it adds no properties.
/// Loads what a URL names, over HTTP, into memory.
///
/// ```swift
/// URLDataSource(url).request(on: queue, deliveringOn: .main)
///     .done { page in show(page.data) }
///     .fail { error in show(error) }
/// ```
///
/// Every failure is a ``DataSourceError``, whose description names the URL and says what happened; a cancel is
/// `CancellationError`. No thread waits: the operation is executing as long as the transfer is.
open class URLDataSource: TransferDataSource<URLDataSource.Response>, @unchecked Sendable {
    /// A body with its status and headers.
    public struct Response: Sendable {
        /// The body, decompressed. Empty if nothing has changed (304).
        public let data: Data
        /// Status and headers; its `url` is where the body came from, after redirects.
        public let response: HTTPURLResponse

        /// Creates a response, for a subclass that finishes with one of its own: from a cache, for example.
        public init(data: Data, response: HTTPURLResponse) {
            self.data = data
            self.response = response
        }

        /// Whether the server answered 304 to a conditional request.
        public var isNotModified: Bool { response.statusCode == 304 }
    }

    /// Creates a data source for a request: any method, headers and body.
    public override init(
        _ request: URLRequest, options: TransferOptions = .init(), session: TransferSession = .shared
    ) {
        super.init(request, options: options, session: session)
    }

    /// Creates a data source for a plain `GET`.
    public convenience init(
        _ url: URL, options: TransferOptions = .init(), session: TransferSession = .shared
    ) {
        self.init(URLRequest(url: url), options: options, session: session)
    }

    /// Starts the transfer. A subclass that overrides this calls `super`.
    open override func execute() throws {
        try transfer(into: { MemorySink($0) }) { try Response(data: $1.data, response: $0.get()) }
    }
}
