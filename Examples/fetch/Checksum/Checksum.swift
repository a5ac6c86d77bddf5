import Foundation

#if canImport(CryptoKit)
import CryptoKit
#endif

/// A SHA-256 checksum that a file must have.
struct Checksum: Equatable, Sendable {
    /// 64 hexadecimal digits, in lower case.
    let digits: String

    /// The error of a file with another checksum.
    struct Mismatch: Error, Equatable, CustomStringConvertible {
        let expected: Checksum
        let actual: Checksum

        var description: String {
            "wrong checksum: sha256 is \(actual.digits), expected \(expected.digits)"
        }
    }

    /// Reads `file` and compares its checksum with this one. Takes constant memory.
    ///
    /// - Parameter isCancelled: Called between pieces of 256 KiB; if it returns true, the error is
    ///   `CancellationError`.
    /// - Throws: ``Mismatch``, or why the file cannot be read.
    func check(_ file: URL, unless isCancelled: () -> Bool = { false }) throws {
        let actual = try Checksum(of: file, unless: isCancelled)
        guard actual == self else { throw Mismatch(expected: self, actual: actual) }
    }

    /// The checksum of a file.
    init(of file: URL, unless isCancelled: () -> Bool = { false }) throws {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        #if canImport(CryptoKit)
        var hash = CryptoKit.SHA256()
        #else
        var hash = PortableSHA256()
        #endif
        while let piece = try handle.read(upToCount: 1 << 18), !piece.isEmpty {
            if isCancelled() { throw CancellationError() }
            #if canImport(CryptoKit)
            hash.update(data: piece)
            #else
            piece.withUnsafeBytes { hash.update($0) }
            #endif
        }
        #if canImport(CryptoKit)
        self.init(bytes: hash.finalize())
        #else
        self.init(bytes: hash.finalized())
        #endif
    }

    /// The checksum with these 32 bytes.
    init(bytes: some Sequence<UInt8>) {
        digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// `sha256=HEX`, as on the command line; nil if `text` is something else.
    init?(parsing text: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ["sha256", "sha-256"].contains(parts[0].lowercased()),
            parts[1].utf8.count == 64,
            parts[1].utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
        else { return nil }
        digits = parts[1].lowercased()
    }
}
