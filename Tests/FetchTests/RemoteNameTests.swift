import Testing

@testable import fetch

/// The names that servers send, by RFC 6266 and RFC 8187, however hostile.
struct RemoteNameTests {
    private func name(_ header: String) -> String? {
        ContentDisposition.fileName(header).flatMap(FileName.ofServer)
    }

    @Test(
        "--remote-name: the name is that of filename*, or of filename, quoted or not",
        arguments: [
            ("attachment; filename=a.txt", "a.txt"), ("attachment; filename=\"a b.txt\"", "a b.txt"),
            ("inline;FILENAME=a.txt", "a.txt"), ("filename=a.txt", "a.txt"),
            ("attachment; filename = \"a.txt\" ; size=1", "a.txt"),
            ("attachment; filename=\"a;b.txt\"; x=y", "a;b.txt"), ("attachment; filename=a b.txt", "a b.txt"),
            ("attachment; filename=\"a\\\"b.txt\"", "a\"b.txt"),
            ("attachment; filename=\"e.txt\"; filename*=UTF-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
            ("attachment; filename*=utf-8'en'%C3%A4.txt; filename=a.txt", "ä.txt"),
            ("attachment; filename*=iso-8859-1''%E4.txt", "ä.txt"),
            // What cannot be decoded leaves the other one.
            ("attachment; filename*=UTF-8''%FF.txt; filename=a.txt", "a.txt"),
            ("attachment; filename*=UTF-8''%4; filename=a.txt", "a.txt"),
            ("attachment; filename*=UTF-8''%zz; filename=a.txt", "a.txt"),
            ("attachment; filename*=UTF-8''%+4; filename=a.txt", "a.txt"),
            ("attachment; filename*=koi8-r''%C1; filename=a.txt", "a.txt"),
            ("attachment; filename*=a.txt; filename=b.txt", "b.txt"),
            ("attachment; filename*=UTF-8''; filename=b.txt", "b.txt"),
            // Of two, the first.
            ("attachment; filename=a.txt; filename=b.txt", "a.txt"),
            ("attachment; filename=\"a.txt\", attachment; filename=\"b.txt\"", "a.txt"),
            ("attachment; filename=\"never closed.txt", "never closed.txt"),
            ("attachment; filename=a%20b.txt", "a%20b.txt"), ("=; ;;filename=a.txt", "a.txt"),
        ])
    func names(header: String, expected: String) {
        #expect(name(header) == expected)
    }

    @Test(
        "--remote-name: a hostile name leads to no other folder, hides nothing, and shows what it is",
        arguments: [
            ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"), ("C:\\\\Windows\\\\x.exe", "x.exe"),
            ("..", "_."), (".", "_"), ("...", "_.."), (".bashrc", "_bashrc"), ("../.netrc", "_netrc"),
            ("a\u{1B}[2Jb", "a_[2Jb"), ("a\u{0}b", "a_b"), ("evil\u{202E}gpj.exe", "evil_gpj.exe"),
            ("a\nb", "a_b"), ("~", "~"), ("-rf", "_rf"), ("%2e%2e%2fx", "%2e%2e%2fx"), (" a ", "a"),
        ])
    func hostile(text: String, expected: String) {
        #expect(name("attachment; filename=\"\(text)\"") == expected)
    }

    @Test(
        "--remote-name: where nothing is left of the name, there is none",
        arguments: [
            "", "attachment", "attachment; filename=", "attachment; filename=\"\"", "x; filename=\"a/\"",
            "attachment; filename=\" \"", ";", "attachment; filename*=UTF-8''", "filename", "x; name=a.txt",
        ])
    func none(header: String) {
        #expect(name(header) == nil)
    }

    @Test("--remote-name: a name of 10,000 bytes is shortened, and keeps its extension, also .tar.gz")
    func long() throws {
        for ending in [".txt", ".tar.gz", ".TAR.zst"] {
            let long = String(repeating: "ä", count: 5000) + ending
            let short = try #require(name("attachment; filename=\"\(long)\""))
            #expect(short.utf8.count <= 200 && short.hasPrefix("ää") && short.hasSuffix("ä" + ending))
        }
        let parameters = String(repeating: "; filename=\"a\"", count: 10_000)
        #expect(name("attachment" + parameters) == "a")
    }
}
