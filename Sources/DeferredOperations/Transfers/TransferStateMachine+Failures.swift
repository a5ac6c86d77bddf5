internal import Foundation

extension TransferStateMachine {
    /// Translates what Foundation reports into the error to report, by its code, its text, and how much of
    /// the answer had arrived; `CancellationError` for a cancel (O3).
    ///
    /// swift-corelibs-foundation has one code, `unknown`, for most of what libcurl reports; the text is libcurl's.
    func failure(for error: any Error) -> any Error {
        if error is DataSourceError { return error }
        guard let error = error as? URLError else {
            return DataSourceError.connectionLost(url, reason: error.localizedDescription)
        }
        let reason = error.localizedDescription
        switch error.code {
        case .cancelled, .userCancelledAuthentication:
            return CancellationError()
        case .timedOut, .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet,
            .secureConnectionFailed,
            .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired,
            .appTransportSecurityRequiresSecureConnection:
            return DataSourceError.cannotConnect(url, reason: reason)
        case .networkConnectionLost:
            return DataSourceError.connectionLost(url, reason: reason)
        case .badURL:
            return DataSourceError.invalidRequest(url, reason: "Foundation cannot send it to this host")
        case .cannotDecodeRawData, .cannotDecodeContentData:
            return DataSourceError.malformedContent(url, reason: reason)
        case .badServerResponse where reason.contains("Empty reply"):
            return DataSourceError.connectionLost(url, reason: "closed without an answer")
        case .badServerResponse, .cannotParseResponse, .unsupportedURL:
            return DataSourceError.malformedResponse(url, reason: reason)
        default:
            return other(reason)
        }
    }

    private func other(_ reason: String) -> DataSourceError {
        func mentions(_ words: String...) -> Bool {
            words.contains { reason.range(of: $0, options: .caseInsensitive) != nil }
        }
        if mentions("unencoding", "Content-Encoding", "bad HTTP Content", "content encoding", "decompress") {
            return .malformedContent(url, reason: reason)
        }
        guard let answer else {
            if mentions("SSL", "TLS", "certificate", "Failed to connect") {
                return .cannotConnect(url, reason: reason)
            }
            // libcurl's only report about a header that is longer than it accepts.
            if mentions("out of memory") {
                return .malformedResponse(url, reason: "a header that is too long")
            }
            if mentions("header", "Content-Length", "HTTP", "Transfer-Encoding") {
                return .malformedResponse(url, reason: reason)
            }
            return .connectionLost(url, reason: reason)
        }
        if mentions("chunk", "hexadecimal") { return .malformedResponse(url, reason: reason) }
        if mentions("closed", "partial") {
            return .truncated(url, received: answer.received, expected: answer.announced)
        }
        return .connectionLost(url, reason: reason)
    }
}

extension DataSourceError {
    /// Returns the failure of a request if the process has no file descriptors left, where libcurl says that it cannot
    /// connect or find the host; nil if it has some.
    ///
    /// A connection needs several at once, for the resolver and for the socket, and those that it got have been closed
    /// by now: so several are opened here.
    static func descriptorShortage(_ url: URL) -> DataSourceError? {
        var descriptors: [CInt] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 0..<4 {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                guard errno == EMFILE || errno == ENFILE else { return nil }
                return .cannotConnect(url, reason: "too many open files: this process may have no more")
            }
            descriptors.append(descriptor)
        }
        return nil
    }
}
