#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A body of any size that takes no memory: the byte at offset `n` is `n % 251`, so that a test can check
/// that a part of it is at the right offset.
public enum Pattern {
    /// Returns the byte at `offset`.
    public static func byte(at offset: Int) -> UInt8 { UInt8(offset % 251) }

    /// Returns `count` bytes from `offset` on.
    public static func bytes(_ count: Int, from offset: Int = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        forEachRun(in: offset..<offset + count) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// A block to send from: it contains any run of the pattern up to `runLength` long.
    private static let block = (0..<runLength + 251).map(byte)
    private static let runLength = 251 * 256

    /// Calls `body` with the bytes in `range`, in runs.
    static func forEachRun(in range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try block.withUnsafeBytes { block in
            var offset = range.lowerBound
            while offset < range.upperBound {
                let start = offset % 251
                let count = min(runLength, range.upperBound - offset)
                try body(UnsafeRawBufferPointer(rebasing: block[start..<start + count]))
                offset += count
            }
        }
    }

    /// Returns whether `bytes` are the pattern's bytes at `offset`.
    public static func matches(_ bytes: some Collection<UInt8>, at offset: Int) -> Bool {
        Array(bytes).withUnsafeBytes { bytes in
            var isSame = true
            var compared = 0
            forEachRun(in: offset..<offset + bytes.count) { run in
                let part = UnsafeRawBufferPointer(rebasing: bytes[compared..<compared + run.count])
                isSame = isSame && memcmp(part.baseAddress!, run.baseAddress!, run.count) == 0
                compared += run.count
            }
            return isSame
        }
    }
}
