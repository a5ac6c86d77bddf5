#if canImport(FoundationNetworking)
internal import Foundation
#else
public import Foundation
#endif

/// A server that sends the client on to another address; see ``TransferOptions/onRedirect``.
public struct TransferRedirect: Sendable, CustomStringConvertible {
    /// What was asked for.
    public let request: URLRequest
    /// The answer: status 301, 302, 303, 307 or 308, with a `Location`.
    public let response: HTTPURLResponse
    /// The request that follows: without credentials if that is to another host, port or scheme, and as a `GET`
    /// after 303, or 301 and 302 to a `POST`.
    public let next: URLRequest
    /// 1 for the first redirect. What the library requests of its own accord (the rest of a body, a mirror)
    /// counts anew.
    public let count: Int

    /// Creates a redirect, for a test of a closure that decides about it.
    public init(request: URLRequest, response: HTTPURLResponse, next: URLRequest, count: Int = 1) {
        self.request = request
        self.response = response
        self.next = next
        self.count = count
    }

    /// The status and the two addresses, without user and password.
    public var description: String { "\(response.statusCode): \(request.errorURL) to \(next.errorURL)" }

    /// What to do about a redirect.
    public enum Decision: Sendable {
        /// Send ``TransferRedirect/next``.
        case follow
        /// Take the redirect itself as the answer: a failure with its status, and the first bytes of its body.
        /// (For a success, add the status to ``TransferOptions/acceptedStatuses``.)
        case stop
        /// Send another request. It counts as a redirect.
        case change(URLRequest)

        /// The request to send; nil if there is none.
        func request(of redirect: TransferRedirect) -> URLRequest? {
            switch self {
            case .follow: redirect.next
            case .stop: nil
            case .change(let next): next
            }
        }
    }
}
