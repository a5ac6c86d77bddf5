#if canImport(FoundationNetworking)
internal import Foundation
#else
public import Foundation
#endif

/// A server's request for credentials (401).
public struct AuthenticationChallenge: Sendable, CustomStringConvertible {
    /// The request that was refused.
    public let request: URLRequest
    /// The answer: status 401, with `WWW-Authenticate` among its headers.
    public let response: HTTPURLResponse
    /// 1 for the first challenge, 2 if the request with credentials was refused, and so on. What the library
    /// requests of its own accord (the rest of a body, a mirror) counts anew.
    public let attempt: Int

    /// Creates a challenge, for a test of a closure that answers it.
    public init(request: URLRequest, response: HTTPURLResponse, attempt: Int = 1) {
        self.request = request
        self.response = response
        self.attempt = attempt
    }

    /// The status, the address without user and password, and the number of the attempt.
    public var description: String { "\(response.statusCode): \(request.errorURL), attempt \(attempt)" }

    /// Returns the request with a name and password (the Basic scheme).
    public func answered(user: String, password: String) -> URLRequest {
        answered(authorization: "Basic " + "\(user):\(password)".asUTF8.base64EncodedString())
    }

    /// Returns the request with that `Authorization` header.
    public func answered(authorization: String) -> URLRequest {
        var answered = request
        answered.setValue(authorization, forHTTPHeaderField: "Authorization")
        return answered
    }
}
