import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// By what a server can be asked later for the rest of a file.
extension HTTPURLResponse {
    /// For `If-Range`: a strong entity tag, or the date of the last modification. A weak tag does not identify bytes.
    var rangeValidator: String? {
        let tag = value(forHTTPHeaderField: "ETag") ?? ""
        let isStrong = !tag.isEmpty && !tag.hasPrefix("W/")
        return isStrong ? tag : value(forHTTPHeaderField: "Last-Modified")
    }

    /// Whether the server says that it sends no parts.
    var hasNoRanges: Bool { value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() == "none" }

    /// Why a part of this body cannot be continued later, in words; nil if it can be.
    ///
    /// - Parameter storesAsSent: Whether a coding is left on the body.
    func reasonNotToContinue(storesAsSent: Bool) -> String? {
        if !storesAsSent, !contentCodings.isEmpty {
            return "the answer is compressed, and unpacked on its way"
        }
        if rangeValidator == nil { return "the server sends neither a strong ETag nor a Last-Modified" }
        return hasNoRanges ? "the server says Accept-Ranges: none" : nil
    }

    /// Whether this part (206) has the validator that it was asked by: one that has none may come from a server that
    /// ignores `If-Range`.
    func confirms(_ validator: String?) -> Bool {
        validator != nil && ["ETag", "Last-Modified"].contains { value(forHTTPHeaderField: $0) == validator }
    }
}
