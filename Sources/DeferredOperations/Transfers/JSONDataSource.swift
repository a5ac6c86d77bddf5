public import Foundation

// Sound as `@unchecked Sendable`: `decoder` is not changed after it was passed, and one thread uses it.
/// Loads what a URL names, over HTTP, and decodes it from JSON.
///
/// ```swift
/// struct Repository: Decodable { let name: String }
///
/// JSONDataSource<[Repository]>(url).request(on: queue, deliveringOn: .main)
///     .done { repositories in show(repositories) }
/// ```
///
/// A body that is not JSON, or not of the type `T`, is ``DataSourceError/malformedJSON(_:reason:)``, which names the
/// place in the document; other failures are as for ``URLDataSource``. Decoding runs on a background queue.
open class JSONDataSource<T: Decodable & Sendable>: TransferDataSource<T>, @unchecked Sendable {
    private let decoder: JSONDecoder

    /// Creates a data source for a request.
    ///
    /// - Parameter decoder: Configured for the document; not to be changed afterwards.
    public init(
        _ request: URLRequest, decoder: JSONDecoder = JSONDecoder(), options: TransferOptions = .init(),
        session: TransferSession = .shared
    ) {
        self.decoder = decoder
        super.init(request, options: options, session: session)
    }

    /// Creates a data source for a plain `GET`.
    public init(
        _ url: URL, decoder: JSONDecoder = JSONDecoder(), options: TransferOptions = .init(),
        session: TransferSession = .shared
    ) {
        self.decoder = decoder
        super.init(URLRequest(url: url), options: options, session: session)
    }

    /// Starts the transfer. A subclass that overrides this calls `super`.
    open override func execute() throws {
        try transfer(
            into: { MemorySink($0.adding("application/json", for: "Accept")) },
            value: { [self] in try decoded($1.data, $0.get()) })
    }

    private func decoded(_ data: Data, _ response: HTTPURLResponse) throws -> T {
        let url = response.url?.withoutUserInfo ?? urlRequest.errorURL
        // 304: nothing has changed, so there is nothing to decode.
        if response.statusCode == 304 { throw DataSourceError.status(.init(response, url: url)) }
        do {
            return try decoder.decode(T.self, from: data)
        } catch {
            throw DataSourceError.malformedJSON(url, reason: Self.reason(for: error))
        }
    }

    private static func reason(for error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return place(context.codingPath) + context.debugDescription
        case .keyNotFound(let key, let context):
            return place(context.codingPath) + "there is no \"\(key.stringValue)\""
        case .dataCorrupted(let context):
            let underlying = (context.underlyingError as NSError?)?.userInfo["NSDebugDescription"] as? String
            return place(context.codingPath) + (underlying ?? context.debugDescription)
        @unknown default:
            return "\(error)"
        }
    }

    /// `at items[3].name: `
    private static func place(_ path: [any CodingKey]) -> String {
        let text = path.map { key in key.intValue.map { "[\($0)]" } ?? "." + key.stringValue }.joined()
        return text.isEmpty ? "" : "at \(text.hasPrefix(".") ? text.dropFirst() : text[...]): "
    }
}
