internal import Foundation

/// What a transport has reported in place of an answer, or of the rest of one.
struct TransportFailure {
    /// The address that was asked.
    private let url: URL
    /// What had arrived.
    private let answer: TransferAnswer?

    init(_ url: URL, _ answer: TransferAnswer?) { (self.url, self.answer) = (url, answer) }

    /// Translates what Foundation reports into the error to report, by its code, its text, and how much of
    /// the answer had arrived; `CancellationError` for a cancel (O3).
    ///
    /// swift-corelibs-foundation has one code, `unknown`, for most of what libcurl reports; the text is libcurl's.
    func translated(_ error: any Error) -> any Error {
        if error is DataSourceError { return error }
        let (code, reason) = ((error as? URLError)?.code, error.localizedDescription.withoutUserInfo)
        let isCancel = code == .cancelled || code == .userCancelledAuthentication
        return isCancel ? CancellationError() : failure(code ?? .networkConnectionLost, reason)
    }

    private func failure(_ code: URLError.Code, _ reason: String) -> DataSourceError {
        switch code {
        case _ where reason.lowercased().contains("proxy") || reason.hasPrefix("CONNECT "):
            .cannotConnect(url, reason: "through the proxy: \(reason)")
        case .timedOut, .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet,
            .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
            .cannotConnect(url, reason: reason)
        case .networkConnectionLost: .connectionLost(url, reason: reason)
        case .badURL where url.host?.contains("%") == true:
            .invalidRequest(url, reason: "Foundation cannot send it to an address with a zone")
        case .badURL: .invalidRequest(url, reason: "Foundation cannot send it to this host")
        case .cannotDecodeRawData, .cannotDecodeContentData: .malformedContent(url, reason: reason)
        case .badServerResponse where reason.contains("Empty reply"):
            .connectionLost(url, reason: "closed without an answer")
        case .badServerResponse, .cannotParseResponse, .unsupportedURL:
            .malformedResponse(url, reason: reason)
        default: failure(of: reason)
        }
    }

    private func failure(of reason: String) -> DataSourceError {
        func mentions(_ words: String...) -> Bool {
            words.contains { reason.range(of: $0, options: .caseInsensitive) != nil }
        }
        switch answer {
        case _ where mentions("unencoding", "Content-Encoding", "bad HTTP Content", "decompress"),
            _ where mentions("content encoding"):
            return .malformedContent(url, reason: reason)
        case nil where mentions("SSL", "TLS", "certificate", "Failed to connect"):
            return .cannotConnect(url, reason: reason)
        // libcurl's only report about a header that is longer than it accepts.
        case nil where mentions("out of memory"):
            return .malformedResponse(url, reason: "a header that is too long")
        case nil where mentions("header", "Content-Length", "HTTP", "Transfer-Encoding"),
            _? where mentions("chunk", "hexadecimal"):
            return .malformedResponse(url, reason: reason)
        case let answer? where mentions("closed", "partial"):
            return .truncated(url, received: answer.received, expected: answer.announced)
        default: return .connectionLost(url, reason: reason)
        }
    }
}
