import Foundation
import Testing

@testable import fetch

/// The file of `--netrc`, as curl, wget and ftp(1) read it.
struct NetrcTests {
    /// `login:password` for a host; nil for none.
    private func login(_ text: String, _ host: String, login: String? = nil, isRedirect: Bool = false) throws
        -> String?
    {
        let value = try Netrc(parsing: text).authorization(for: host, login: login, isRedirect: isRedirect)
        return try value.map { value in
            #expect(value.hasPrefix("Basic "))
            return String(
                decoding: try #require(Data(base64Encoded: String(value.dropFirst(6)))), as: UTF8.self)
        }
    }

    @Test(
        "--netrc: lines, one line, quotation marks, comments and macros are read as curl reads them",
        arguments: [
            ("machine h login me password secret", "me:secret"),
            ("machine h\n\tlogin me\r\n\tpassword secret\n", "me:secret"),
            ("machine H login me password secret", "me:secret"),
            ("machine other login x password y machine h password secret login me", "me:secret"),
            ("machine h login me password first\nmachine h login me password second", "me:first"),
            ("default login any password one", "any:one"),
            ("default login any password one\nmachine h login me password secret", "me:secret"),
            ("machine h login \"two words\" password \"a \\\"b\\\" \\\\ c\"", "two words:a \"b\" \\ c"),
            ("machine h login me password \"\"", "me:"), ("machine h login me", "me:"),
            ("machine h login me password #hash", "me:#hash"),
            ("# machine h login no\nmachine h login me # the rest\npassword secret", "me:secret"),
            ("machine h login me account x password secret", "me:secret"),
            (
                "macdef init\nmachine h login no password no\ncd /\n\nmachine h login me password yes",
                "me:yes"
            ),
            ("machine h login me password yes\nmacdef last\nquit", "me:yes"),
            ("machine login login login password password", nil), ("machine h password alone", nil),
            ("", nil),
            ("\u{FEFF}machine h login me password pässwört", "me:pässwört"),
        ])
    func entries(text: String, expected: String?) throws {
        #expect(try login(text, "h") == expected)
    }

    @Test(
        "--netrc: the warning says who else can read or write the file",
        arguments: [
            (0o100600, nil), (0o400, nil), (0o711, nil), (0o640, "its group can read"),
            (0o620, "its group can write"), (0o660, "its group can read and write"),
            (0o644, "everyone can read"), (0o602, "everyone can write"),
            (0o666, "everyone can read and write"),
            (0o664, "everyone can read, and its group can read and write"),
            (0o624, "everyone can read, and its group can write"),
        ] as [(UInt32, String?)])
    func others(mode: UInt32, expected: String?) {
        #expect(Netrc.others(with: mode_t(mode)) == expected)
    }

    @Test("--netrc: a file without an end is refused")
    func endless() {
        let error = #expect(throws: UsageError.self) { try Netrc.read("/dev/zero") }
        #expect(error?.description.contains("more than 16 MiB") == true)
    }

    @Test("--netrc: a name in the URL chooses the entry, and a redirect is not given what is for any host")
    func choice() throws {
        let text = "machine h login a password 1\nmachine h login b password 2\ndefault login c password 3"
        #expect(try login(text, "h") == "a:1" && login(text, "h", login: "b") == "b:2")
        #expect(try login(text, "h", login: "d") == nil && login(text, "else") == "c:3")
        #expect(
            try login(text, "else", isRedirect: true) == nil && login(text, "h", isRedirect: true) == "a:1")
    }

    @Test(
        "--netrc: a file that is malformed is named by its line, and not quoted",
        arguments: [
            ("machine h\nlogin me\nsecret", 3, "not one of machine"), ("login me", 1, "before any 'machine'"),
            ("machine h login", 1, "'login' has no value"), ("\nmachine", 2, "'machine' has no value"),
            ("machine h password \"secret", 1, "never closed"),
        ])
    func malformed(text: String, line: Int, reason: String) {
        let error = #expect(throws: Netrc.Malformed.self) { try Netrc(parsing: text) }
        #expect(error?.line == line && error?.description.contains(reason) == true)
        #expect(error?.description.contains("secret") == false)
    }
}
