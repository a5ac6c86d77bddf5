import Testing

@testable import fetch

private let zeros = String(repeating: "0", count: 64)

struct OptionsTests {
    private func problem(_ arguments: [String]) -> String {
        let error = #expect(throws: UsageError.self) { try Options(parsing: arguments) }
        return error?.description ?? "none"
    }

    @Test("Short, attached, long and equals forms of an option mean the same")
    func forms() throws {
        var expected = Options()
        expected.urls = ["u"]
        expected.jobs = 8
        for arguments in [
            ["-j", "8", "u"], ["-j8", "u"], ["u", "--jobs", "8"], ["--jobs=8", "u"], ["-j", "8", "--", "u"],
        ] {
            #expect(try Options(parsing: arguments) == expected)
        }
        #expect(try Options(parsing: ["--", "-j"]).urls == ["-j"])
        #expect(try Options(parsing: [" http://h/a\t", "--", "\nb"]).urls == ["http://h/a", "b"])
    }

    @Test("An option of curl or wget is answered with what it is here, which is an option")
    func familiar() throws {
        for (name, hint) in [
            ("-L", "redirects are followed"), ("-C", "--continue"), ("-N", "--newer"), ("-u", "--netrc"),
            ("--compressed", "Accept-Encoding: gzip"), ("-X", "GET"), ("-O", "-o FILE"), ("-P", "-d DIR"),
        ] {
            #expect(
                problem([name, "u"]).contains("unknown option '\(name)'; ") && problem([name]).contains(hint))
        }
        // None of them is one of fetch's own.
        for name in Option.groups.flatMap(\.options).flatMap(\.names) {
            #expect(FamiliarOptions.hint(name) == nil, "\(name)")
        }
    }

    @Test("-H 'Host:' is only possible with --raw, as the hint says")
    func host() throws {
        let refusal = problem(["-H", "hOsT:", "u"])
        #expect(refusal.contains("-H 'Host:' is not possible"))
        if refusal.contains("--raw") {
            #expect(try Options(parsing: ["--raw", "-H", "Host:", "u"]).headers.count == 1)
        }
        #expect(try Options(parsing: ["-H", "Host: h", "-H", "X-Host:", "u"]).headers.count == 2)
    }

    @Test("Every option is parsed")
    func values() throws {
        let options = try Options(parsing: [
            "a", "-d", "dir", "--overwrite", "--input", "list", "-H", "A: b: c", "--header=X-Empty:",
            "--timeout", "0.5",
            "--max-time=90", "--retry", "3", "--fail-fast", "--json", "-q", "--waterfall", "w.svg",
            "--trace=t.json", "-R", "--max-filesize", "1.5k", "b",
        ])
        var expected = Options()
        (expected.urls, expected.directory, expected.existing) = (["a", "b"], "dir", .overwrite)
        (expected.input, expected.waterfall, expected.trace) = ("list", "w.svg", "t.json")
        expected.headers = [.init(name: "A", value: "b: c"), .init(name: "X-Empty", value: nil)]
        (expected.timeout, expected.maximumTime) = (.milliseconds(500), .seconds(90))
        (expected.retries, expected.maximumByteCount) = (3, 1500)
        (expected.failsFast, expected.writesJSON, expected.isQuiet) = (true, true, true)
        expected.keepsServerTime = true
        #expect(options == expected)
        let newer = try Options(parsing: ["--newer", "u", "--netrc", "--raw", "-H", "X;"])
        #expect(newer.existing == .newer && newer.keepsServerTime && newer.netrc == "" && newer.urls == ["u"])
        #expect(newer.storesAsSent && newer.headers == [.init(name: "X", value: "")])
        let named = try Options(parsing: ["--remote-name", "--netrc=file", "u"])
        #expect(named.usesRemoteName && named.netrc == "file")
        for arguments in [["--netrc", "file", "http://h"], ["http://h", "--netrc", "file"]] {
            #expect(try Options(parsing: arguments).netrc == "file")
        }
        for arguments in [["--netrc", "http://h"], ["http://h", "--netrc"], ["--netrc", "-q", "http://h"]] {
            #expect(try Options(parsing: arguments).netrc == "")
        }
        #expect(try Options(parsing: ["-V"]).action == .version)
        #expect(try Options(parsing: ["-o", "-", "u"]).output == .standardOutput)
        #expect(try Options(parsing: ["-ofile", "u"]).output == .file("file"))
        #expect(try Options(parsing: ["--first", "-o", "f", "u", "v"]).takesFirst)
        #expect(try Options(parsing: ["--mirrors", "-o", "f", "u", "v"]).triesMirrors)
        let checked = try Options(parsing: ["--checksum", "sha256=\(zeros)", "--first", "u", "v"])
        #expect(checked.checksum?.digits == zeros)
        for (text, rate) in [
            ("800", 800), ("500k", 500_000), ("1.5M", 1_500_000), ("2G", 2_000_000_000), ("3K", 3000),
        ] {
            #expect(try Options(parsing: ["--limit-rate", text, "u"]).bytesPerSecond == Int64(rate))
        }
    }

    @Test(
        "O9: a URL that is given as the value of an option is refused, and its password is not shown",
        arguments: [
            "--timeout", "-j", "--retry", "--max-time", "--limit-rate", "--max-filesize", "--checksum",
            "--input", "--waterfall", "--trace", "-d", "-o", "-H", "--quiet", "--json", "--netrc", "--raw",
        ])
    func password(_ option: String) {
        for address in ["http://me:s3cret@h/a", " http://me:s3\\cret@h/a", "http://me:/s3cret@h/a"] {
            let attached = option + (option.hasPrefix("--") ? "=" : "") + address
            // Some take no value, so that the address is another argument.
            let takesValue = !["--quiet", "--json", "--netrc", "--raw"].contains(option)
            for arguments in takesValue ? [[option, address], [attached]] : [[attached]] {
                let problem = problem(arguments + ["http://h/b"])
                #expect(problem.contains("http://h/a") && !problem.contains("cret"), "\(problem)")
            }
        }
    }

    @Test(
        "The error for an unknown option names it and the most similar one",
        arguments: [
            ("--overwite", "unknown option '--overwite'; did you mean '--overwrite'?"),
            ("--max-tim=3", "unknown option '--max-tim'; did you mean '--max-time'?"),
            ("-output", "unknown option '-output'; did you mean '--output'?"),
            ("--zzzzzz", "unknown option '--zzzzzz'; see 'fetch --help'"), ("-x", "unknown option '-x'"),
            ("--http://u:pw@x/", "unknown option '--http://x/'"),
            ("-", "'-' is not a URL; URLs come from standard input with '--input -'"),
        ])
    func unknown(argument: String, expected: String) {
        #expect(problem([argument, "u"]).hasPrefix("fetch: \(expected)"))
    }

    @Test(
        "The error for an invalid value names it and says what is valid",
        arguments: [
            ("-j", ["0", "x"], "a whole number from 1 to 1000"),
            ("--retry", ["-1"], "a whole number from 0 to 1000"),
            ("--timeout", ["0", "nan", "0x10", "0x1p4", "1e3", "+1"], "seconds above 0, such as 10 or 0.5"),
            ("--max-time", ["inf"], "seconds above 0, such as 10 or 0.5"),
            ("--waterfall", ["-"], "a file, as standard output is for the fetched data"),
            ("--trace", ["-"], "a file, as standard output is for the fetched data"),
            ("--limit-rate", ["0", "-5k", "k", "1e3", "5T"], "bytes a second, such as 500k or 1.5M"),
        ])
    func badValues(option: String, values: [String], expected: String) {
        for value in values {
            for arguments in [[option, value], [option + (option.hasPrefix("--") ? "=" : "") + value]] {
                let problem = problem(["u"] + arguments)
                #expect(problem == "fetch: '\(value)' is not valid for \(option); it takes \(expected)")
            }
        }
    }

    @Test(
        "The error for a value of the wrong form says how it is written",
        arguments: [
            (["-H", "a: b", "-H", "Basic c"], "header 2 has no colon; a header is written as 'Name: value'"),
            (["-H", "Basic c: d"], "header 1 has no valid name before its colon; a header"),
            (["-H", ": c"], "header 1 has no valid name before its colon; a header"),
            (["-H", "a: b\r\nc: d"], "the value of the header 'a' contains a control character; a header"),
            (["--quiet=yes"], "--quiet takes no value, but got 'yes'; see 'fetch --help'"),
            (["--checksum", "md5=00"], "'md5=00' is not a checksum; write it as --checksum sha256=HEX"),
            (["-d"], "-d needs a value; write it as -d DIR"),
            (["-d", "--json"], "-d needs a value; write it as -d DIR"),
            (["--output="], "--output needs a value; write it as --output FILE"),
        ])
    func badForms(arguments: [String], expected: String) {
        #expect(problem(["u"] + arguments).hasPrefix("fetch: \(expected)"))
    }

    @Test(
        "Options that contradict each other, or are not possible, are named",
        arguments: [
            (["u", "--overwrite", "--skip-existing"], "--overwrite and --skip-existing contradict"),
            (["u", "--continue", "--overwrite"], "--continue and --overwrite contradict"),
            (["u", "--first", "--fail-fast"], "--first and --fail-fast contradict"),
            (["u", "--mirrors", "--fail-fast"], "--mirrors and --fail-fast contradict"),
            (["u", "--first", "--mirrors"], "--first and --mirrors contradict"),
            (["u", "--first", "--continue"], "--first and --continue contradict"),
            (["u", "--json", "-o", "-"], "--json and -o - contradict"),
            (["u", "-d", "x", "-o", "-"], "-o - and -d contradict"),
            (["u", "-o", "-", "--continue"], "-o - and --continue contradict"),
            (["u", "-o", "-", "--newer"], "-o - and --newer contradict"),
            (["u", "--newer", "--overwrite"], "--newer and --overwrite contradict"),
            (["u", "--first", "--newer"], "--first and --newer contradict"),
            (["u", "--remote-name", "-o", "f"], "--remote-name and -o contradict"),
            (["u", "--remote-name", "-o", "-"], "--remote-name and -o contradict"),
            (["u", "--remote-name", "--continue"], "--remote-name and --continue contradict"),
            (["u", "--remote-name", "--newer"], "--remote-name and --newer contradict"),
            (["u", "--netrc="], "--netrc= has no value"), (["u", "--raw=x"], "--raw takes no value"),
            (["u", "-H", ";"], "header 1 has no valid name"),
            (["u", "--waterfall", "x", "--trace", "x"], "--waterfall and --trace contradict"),
            (["u", "v", "-o", "x"], "-o is for one URL, and there are 2"),
            (["u", "v", "--checksum", "sha256=\(zeros)"], "--checksum is for one URL, and there are 2"),
            (["--demo", "u"], "--demo has its own URLs and settings"),
            (["u", "--cacert", "x"], "--cacert is not possible: Foundation checks certificates"),
            (["u", "-k"], "--insecure is not possible: Foundation checks certificates"),
            ([], "no URL was given"),
            (["--json"], "no URL was given"),
        ])
    func contradictions(arguments: [String], expected: String) {
        #expect(problem(arguments).hasPrefix("fetch: \(expected)"))
    }

    @Test("--help overrides everything else, and shows every option within 80 columns")
    func help() throws {
        #expect(try Options(parsing: ["--help", "-o", "x", "u", "v"]).action == .help)
        for option in Option.groups.flatMap(\.options) {
            for name in option.names { #expect(Help.text.contains(name)) }
        }
        for line in Help.text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }
}
