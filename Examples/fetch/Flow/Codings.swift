import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The error of an answer that is compressed although that was not asked for. Foundation would unpack it: the
/// file would not be the server's, and could be any number of times as large.
struct UnaskedEncoding: Error, CustomStringConvertible {
    let codings: [String]
    let canStoreAsSent: Bool

    /// What Foundation's libcurl may be able to unpack.
    private static let unpacked: Set = ["gzip", "x-gzip", "deflate", "br", "zstd"]

    var description: String {
        let names = codings.joined(separator: ", ")
        let raw = canStoreAsSent ? "--raw stores it as it is sent" : nil
        let unpacking =
            Self.unpacked.isSuperset(of: codings)
            ? "-H 'Accept-Encoding: \(names)' \(raw == nil ? "stores it unpacked" : "unpacked")" : nil
        let hint = [raw, unpacking].compactMap { $0 }.joined(separator: ", ")
        return "compressed (\(names)), which was not asked for" + (hint.isEmpty ? "" : "; \(hint)")
    }

    static func check(_ response: HTTPURLResponse, canStoreAsSent: Bool) throws(UnaskedEncoding) {
        let codings = response.contentCodings
        guard codings.isEmpty else {
            // With one that libcurl does not know, it refuses all.
            let listed = response.listedCodings.filter { !["identity", "none"].contains($0) }
            throw UnaskedEncoding(codings: listed, canStoreAsSent: canStoreAsSent)
        }
    }
}

/// Ends a transfer whose answer is marked with a coding that is none, and that Foundation would refuse: it is made
/// again by the transport that stores what is sent.
struct CodingIsNone: Error {
    static func check(_ response: HTTPURLResponse) throws(CodingIsNone) {
        #if canImport(FoundationNetworking)
        // libcurl itself knows these two.
        let isUnknown = response.listedCodings.contains { !["identity", "none"].contains($0) }
        if isUnknown, response.contentCodings.isEmpty { throw CodingIsNone() }
        #endif
    }
}

extension TransferSession {
    /// Whether ``storingAsSent(bytesPerSecond:cookiesOf:)`` returns one.
    static var canStoreAsSent: Bool {
        #if canImport(FoundationNetworking)
        CurlTransport.isPossible
        #else
        false
        #endif
    }

    /// A session that stores what is sent, for `--raw`, with the cookies of another session; nil where that is not
    /// possible.
    static func storingAsSent(
        bytesPerSecond: Int64?, cookiesOf session: TransferSession
    ) -> TransferSession? {
        #if canImport(FoundationNetworking)
        CurlTransport(cookies: (session.transport as? FoundationTransport)?.cookies)
            .map { TransferSession(transport: $0, bytesPerSecond: bytesPerSecond) }
        #else
        nil
        #endif
    }
}
