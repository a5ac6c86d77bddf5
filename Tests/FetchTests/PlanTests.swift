import Foundation
import Testing

@testable import fetch

struct PlanTests {
    @Test(
        "A file is named by the last path component, decoded, and never leaves its folder",
        arguments: [
            ("http://h/a/b.txt", "b.txt"), ("http://h/a%20b.txt?q=/x#/y", "a b.txt"),
            ("http://h", "index.html"),
            ("http://h/", "index.html"), ("http://h/a/", "index.html"), ("http://h/a/..", "__"),
            ("http://h/.", "_"),
            ("http://h/%2e%2e", "__"), ("http://h/%2E", "_"),
            ("http://h/..%2f..%2fetc%2fpasswd", ".._.._etc_passwd"),
            ("http://h/..%5cx", ".._x"), ("http://h/a%00b%0Ac%1B%7F", "a_b_c__"),
            ("http://h/%C3%A4.txt", "ä.txt"),
            ("http://h/%FF%FE", "%FF%FE"), ("http://h/...", "..."),
            ("http://h/evil%E2%80%AEgpj.exe", "evil_gpj.exe"),
            ("http://h/a%2520b", "a%20b"),
        ])
    func names(url: String, expected: String) throws {
        #expect(FileName.of(try WebAddress.parse(url)) == expected)
    }

    @Test("A name too long for file systems is shortened, and keeps its extension")
    func longNames() throws {
        let name = FileName.of(
            try WebAddress.parse("http://h/" + String(repeating: "%C3%A4", count: 200) + ".tar"))
        #expect(name.utf8.count <= 200)
        #expect(name.hasPrefix("ää") && name.hasSuffix("ä.tar"))
        let archive = try WebAddress.parse("http://h/" + String(repeating: "x", count: 300) + ".tar.gz")
        #expect(FileName.of(archive) == String(repeating: "x", count: 193) + ".tar.gz")
    }

    @Test("A second URL of the same name gets a number, in the order given, and no two names are the same")
    func uniqueNames() {
        var names = UniqueNames()
        #expect(
            ["a", "a", "a.1", "b", "a", "a.1"].map { names.make($0) } == [
                "a", "a.1", "a.1.1", "b", "a.2", "a.1.2",
            ])
    }

    @Test("--input has a URL on each line; comments, line endings and a byte order mark are skipped")
    func input() throws {
        let text = "\u{FEFF}http://a\r\n\n  # a comment\n#another\nhttp://b  \n\t\rhttp://c#fragment"
        #expect(
            try InputList.parse(Array(text.utf8)).map(\.url) == ["http://a", "http://b", "http://c#fragment"])
        #expect(try InputList.parse(Array<UInt8>()).isEmpty)
    }

    @Test(
        "--input: a checksum may follow each URL; one that is malformed is named by its line, before a fetch")
    func inputChecksums() throws {
        let sum = String(repeating: "aB", count: 32)
        let lines = try InputList.parse(
            Array(
                """
                http://a sha256=\(sum)\r\nhttp://c SHA-256=\(sum)  # the release
                http://d e=f
                http://e#part \t# no checksum
                """.utf8))
        #expect(lines.map(\.url) == ["http://a", "http://c", "http://d e=f", "http://e#part"])
        #expect(lines.map { $0.checksum?.digits } == [sum.lowercased(), sum.lowercased(), nil, nil])
        for (text, line) in [
            ("http://a sha256=abc", 1), ("#\r\n\r\nhttp://a sha256=\(sum)0", 3), ("\nhttp://a md5=\(sum)", 2),
            ("a\rb\rhttp://a sha512=", 3), ("http://a sha-1=\(sum)", 1),
            ("http://a sha256=\(sum.dropLast())g", 1), ("http://a sha256:\(sum)", 1),
            ("http://a sha256 = \(sum)", 1), ("http://a \"sha256=\(sum)\"", 1), ("http://a \(sum)", 1),
            ("http://a sha256=\(sum) sha256=\(sum)", 1), ("http://a http://b sha256=\(sum)", 1),
            ("http://a crc32=00000000", 1), ("http://a BLAKE3=00", 1), ("http://a sha512-256=00", 1),
        ] {
            let error = #expect(throws: InputList.InvalidChecksum.self) {
                try InputList.parse(Array(text.utf8))
            }
            #expect(error?.line == line)
        }
    }

    @Test(
        "A URL that cannot be fetched fails with the reason",
        arguments: [
            ("example.org/a", "not a URL: it has no scheme (did you mean http://example.org/a?)"),
            ("//example.org/a", "not a URL: it has no scheme (did you mean http://example.org/a?)"),
            ("localhost:8080/a", "not a URL: it has no scheme (did you mean http://localhost:8080/a?)"),
            ("ftp://h/a", "only http and https can be fetched, not ftp"),
            ("FILE:///etc/passwd", "only http and https can be fetched, not file"),
            ("mailto:a@b", "only http and https can be fetched, not mailto"),
            ("http://", "not a URL: it has no host"), ("http:///a", "not a URL: it has no host"),
            ("http:/a", "not a URL: it has no host"),
            ("http://[::1", "not a URL: the '[' of its host is never closed"),
            ("http://h:x/", "not a URL: 'x' is not a port"),
            ("http://h:99999/", "not a URL: 99999 is not a port (1 to 65535)"),
            ("http://a b/", "not a URL: its host 'a b' has a space in it"),
            ("", "not a URL: it is empty"),
        ])
    func malformed(text: String, expected: String) {
        let error = #expect(throws: WebAddress.Invalid.self) { try WebAddress.parse(text) }
        #expect(error?.description == expected)
    }

    @Test("Pasted URLs are valid: spaces, letters beyond ASCII, upper case, ports and IPv6")
    func lenient() throws {
        #expect(try WebAddress.parse("http://h/a b").absoluteString == "http://h/a%20b")
        #expect(try WebAddress.parse("http://h/ä").absoluteString == "http://h/%C3%A4")
        #expect(try WebAddress.parse("HTTP://[::1]:8080/a?b#c").port == 8080)
    }
}
