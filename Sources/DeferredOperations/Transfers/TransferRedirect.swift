#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// A server that sends the client on to another address; see ``TransferOptions/onRedirect``.
public struct TransferRedirect: Sendable {
    /// What was asked for.
    public let request: URLRequest
    /// The answer: status 301, 302, 303, 307 or 308, with a `Location`.
    public let response: HTTPURLResponse
    /// The request that follows: without credentials if that is to another host, port or scheme, and as a `GET`
    /// after 303, or 301 and 302 to a `POST`.
    public let next: URLRequest
    /// 1 for the first redirect of a transfer.
    public let count: Int

    /// What to do about a redirect.
    public enum Decision: Sendable {
        /// Send ``TransferRedirect/next``.
        case follow
        /// Take the redirect itself as the answer: a failure with its status, and the first bytes of its body.
        /// (For a success, add the status to ``TransferOptions/acceptedStatuses``.)
        case stop
        /// Send another request. It counts as a redirect.
        case change(URLRequest)
    }
}
