internal import Foundation

/// The part of a resource that a 206 or a 416 is about: the value of its `Content-Range`.
struct ContentRange: Equatable {
    /// The positions of the first and the last byte; nil in a 416.
    let bytes: ClosedRange<Int64>?
    /// The length of the whole resource; nil if the server does not know it.
    let total: Int64?

    /// Reads `bytes 100-199/200`, `bytes 100-199/*` or `bytes */200`; nil for anything else, such as a range
    /// that contradicts itself.
    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        total = Self.position(halves[1])
        guard total != nil || halves[1] == "*" else { return nil }
        if halves[0] == "*" {
            guard total != nil else { return nil }
            bytes = nil
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.position(ends[0]), let last = Self.position(ends[1]),
            first <= last, last < total ?? .max
        else { return nil }
        bytes = first...last
    }

    /// A number without a sign.
    fileprivate static func position(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int64(text) : nil
    }
}

/// The part of a resource that a request asks for: a `Range` header with one range that has a beginning.
///
/// Several ranges (`bytes=0-1,5-6`), and those counted from the end (`bytes=-5`), are not of this kind: they
/// are sent as they are, and a part file of theirs is not continued.
struct RequestedRange: Equatable {
    let first: Int64
    /// The position of the last byte; nil for the end of the resource.
    let last: Int64?

    init(first: Int64, last: Int64?) {
        self.first = first
        self.last = last
    }

    init?(_ header: String) {
        let halves = header.split(separator: "=", maxSplits: 1)
        guard halves.count == 2, halves[0].lowercased() == "bytes" else { return nil }
        let ends = halves[1].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = ContentRange.position(ends[0]) else { return nil }
        self.first = first
        if ends[1].isEmpty {
            last = nil
        } else {
            guard let last = ContentRange.position(ends[1]), last >= first else { return nil }
            self.last = last
        }
    }

    /// The value of the `Range` header.
    var header: String { "bytes=\(first)-\(last.map { "\($0)" } ?? "")" }

    /// How many bytes a resource of `total` bytes has in this range; nil if that cannot be known.
    func byteCount(of total: Int64?) -> Int64? {
        let end = [total, last.flatMap { $0 < .max ? $0 + 1 : nil }].compactMap { $0 }.min()
        return total == nil && last == nil ? nil : end.map { max(0, $0 - first) }
    }
}
