import Foundation
import Testing

@testable import fetch

/// SHA-256 by the vectors of NIST, and the value of `--checksum`.
struct ChecksumTests {
    private func hash(_ bytes: [UInt8], pieces: [Int] = []) -> String {
        var hash = PortableSHA256()
        var rest = bytes[...]
        for count in pieces {
            Array(rest.prefix(count)).withUnsafeBytes { hash.update($0) }
            rest = rest.dropFirst(count)
        }
        Array(rest).withUnsafeBytes { hash.update($0) }
        return Checksum(bytes: hash.finalized()).digits
    }

    /// Messages: a beginning, repeated so often.
    @Test(
        "SHA-256: the examples of FIPS 180-4, and NIST's, with lengths about the ends of blocks and a million bytes",
        arguments: [
            ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                    + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu", 1,
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
            ),
            ("\0", 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"),
            ("\0", 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"),
            ("\0", 57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"),
            ("\0", 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"),
            ("\0", 1000, "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"),
            ("A", 1000, "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4"),
            ("U", 1005, "f4d62ddec0f3dd90ea1380fa16a5ff8dc4c54b21740650f24afc4120903552b0"),
            ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ])
    func examples(message: String, count: Int, expected: String) {
        #expect(hash((0..<count).flatMap { _ in Array(message.utf8) }) == expected)
    }

    @Test("SHA-256: the hash is the same in whatever pieces the message comes")
    func pieces() {
        let message = (0..<1000).map { UInt8($0 % 251) }
        let whole = hash(message)
        for pieces in [[1], [63], [64], [65], [1, 63], [63, 1, 64], [10, 20, 34, 128, 5], [0, 1000, 0]] {
            #expect(hash(message, pieces: pieces) == whole, "\(pieces)")
        }
    }

    @Test("A file is hashed in pieces, until that is cancelled")
    func file() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ChecksumTests-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(repeating: 0x61, count: 1_000_000).write(to: file)
        let sum = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        for prefix in ["sha256=", "SHA-256="] {
            try #require(Checksum(parsing: prefix + sum)).check(file)
        }
        let checksum = try #require(Checksum(parsing: "sha256=" + sum))
        #expect(throws: CancellationError.self) { try checksum.check(file, unless: { true }) }
    }

    @Test(
        "Only sha256= with 64 hexadecimal digits is a checksum",
        arguments: [
            "", "sha256", "sha256=", "sha256=12", "md5=" + String(repeating: "0", count: 32),
            "sha256=" + String(repeating: "0", count: 63) + "g",
            "sha256=" + String(repeating: "0", count: 65),
            "sha256=" + String(repeating: "٣", count: 32), String(repeating: "0", count: 64),
        ])
    func malformed(text: String) {
        #expect(Checksum(parsing: text) == nil)
    }
}
