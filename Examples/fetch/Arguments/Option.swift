import DeferredOperations

/// One option: its spelling, its help text, and its effect.
struct Option: Sendable {
    /// Short and long, with their dashes.
    let names: [String]
    /// What stands for its value in the help; nil for an option without a value.
    var placeholder: String?
    /// Whether the value may be left out, and is "" then: before a URL, another option, or nothing.
    var isValueOptional = false
    /// Lines of the help.
    let help: String
    /// Takes the value, or "" if the option has none.
    let apply: @Sendable (_ value: String, inout Options) throws(UsageError) -> Void

    /// A heading in the help, and the options under it.
    struct Group: Sendable {
        let title: String
        let options: [Option]
    }

    /// All options, in the order of the help.
    static let groups = [
        Group(
            title: "Destinations",
            options: [
                output, directory, remoteName, overwrite, skipExisting, resume, newer, remoteTime,
            ]),
        Group(title: "Downloads", options: [input, header, netrc, first, mirrors, checksum, raw]),
        Group(
            title: "Transfers",
            options: [jobs, limitRate, maximumSize, timeout, maximumTime, retry, failFast]),
        Group(title: "Output", options: [json, quiet, waterfall, trace, demo, version, help]),
    ]

    /// Options of other programs that Foundation makes impossible.
    static let refused = [certificates, insecure]

    private static let output = Option(
        names: ["-o", "--output"], placeholder: "FILE",
        help:
            "write the one URL to FILE; '-' is standard output, as it\n"
            + "arrives (with --checksum, --first or --mirrors only once\nall of it has); 'DIR/' is the same as -d DIR"
    ) { value, options in
        options.output = value == "-" ? .standardOutput : .file(value)
    }

    private static let directory = Option(
        names: ["-d", "--directory"], placeholder: "DIR",
        help: "put files into DIR, which is created if it is missing"
    ) { value, options in
        options.directory = value
    }

    private static let remoteName = Option(
        names: ["--remote-name"],
        help:
            "name the file as the server does (Content-Disposition),\nor by its URL if the server does not; "
            + "the name is made\nsafe, and never leads to another folder"
    ) { _, options in
        options.usesRemoteName = true
    }

    private static let overwrite = existing(
        "--overwrite", .overwrite,
        "replace a file that exists, once the new one is whole; a\nsymbolic link stays: the file it leads to is replaced"
    )
    private static let skipExisting = existing(
        "--skip-existing", .skip, "skip a URL whose file exists, without asking the server")
    private static let resume = existing(
        "--continue", .resume,
        "keep what a broken transfer has received (FILE.part) and\n"
            + "resume it the next time, if the server sends a strong\nETag, or a Last-Modified earlier than its answer, by\nwhich "
            + "the rest is known to fit; a FILE that exists is\ndone if it is as long as the server's, and resumed if it\n"
            + "is shorter and not older"
    )

    private static let newer = existing(
        "--newer", .newer,
        "fetch a URL only if its file does not exist, or is older\nthan the server's, or of another length; the file gets\n"
            + "the server's date, as with -R")

    private static let remoteTime = Option(
        names: ["-R", "--remote-time"], help: "give a new file the server's date (Last-Modified)"
    ) { _, options in
        options.keepsServerTime = true
    }

    private static func existing(_ name: String, _ existing: Options.Existing, _ help: String) -> Option {
        Option(names: [name], help: help) { _, options throws(UsageError) in
            if options.existing != .fail, options.existing != existing {
                throw .contradiction(
                    "\(Options.name(of: options.existing)) and \(name)",
                    "a file that exists can be treated in one way only")
            }
            options.existing = existing
        }
    }

    private static let input = Option(
        names: ["--input"], placeholder: "FILE",
        help:
            "read URLs from FILE, or from standard input with '-':\none per line, with or without a checksum after it, as\n"
            + "'URL sha256=HEX'; blank lines and # comments are skipped"
    ) { value, options in
        options.input = value
    }

    private static let header = Option(
        names: ["-H", "--header"], placeholder: "'Name: value'",
        help:
            "send this header with each request; may be repeated;\n"
            + "'Name:' sends none of that name, 'Name;' an empty one"
    ) { value, options throws(UsageError) in
        options.headers.append(try .parsed(value, number: options.headers.count + 1))
    }

    private static let netrc = Option(
        names: ["--netrc"], placeholder: "FILE", isValueOptional: true,
        help: "send the name and the password that FILE has for a URL's\nhost; without FILE, ~/.netrc"
    ) { value, options throws(UsageError) in
        guard value != "-" else {
            throw UsageError(problem: "'-' is not valid for --netrc", hint: "it takes a file")
        }
        options.netrc = value
    }

    private static let raw = Option(
        names: ["--raw"],
        help:
            "store the bytes as they are sent, also if the server\nmarks them as compressed (Content-Encoding); where they\nare "
            + "unpacked instead, it is not noticed if they are cut\nshort"
    ) { _, options throws(UsageError) in
        guard TransferSession.canStoreAsSent else {
            throw UsageError(
                problem: "--raw is not possible here: Foundation unpacks what is marked as compressed",
                hint: "-H 'Accept-Encoding: gzip' stores it unpacked")
        }
        options.storesAsSent = true
    }

    private static let first = Option(
        names: ["--first"],
        help:
            "the URLs are mirrors of one file, named by the first:\nfetch from several at once (-j); the one that is whole\n"
            + "first becomes the file, the rest are cancelled"
    ) { _, options in
        options.takesFirst = true
    }

    private static let mirrors = Option(
        names: ["--mirrors"],
        help:
            "the URLs are mirrors of one file, named by the first and\nasked one after another: the next continues where one\n"
            + "breaks off, if length and date are the same; --checksum\nmakes sure"
    ) { _, options in
        options.triesMirrors = true
    }

    private static let checksum = Option(
        names: ["--checksum"], placeholder: "sha256=HEX",
        help:
            "the SHA-256 that the file must have: with another one it\nis an error, and there is no file; "
            + "for one URL, or for\nmirrors of one file"
    ) { value, options throws(UsageError) in
        guard let checksum = Checksum(parsing: value) else {
            throw UsageError(
                problem: "'\(value)' is not a checksum",
                hint: "write it as --checksum sha256=HEX, with 64 hexadecimal digits")
        }
        options.checksum = checksum
    }

    private static let jobs = Option(
        names: ["-j", "--jobs"], placeholder: "N", help: "transfers at once (4)"
    ) { value, options throws(UsageError) in
        options.jobs = try wholeNumber(value, "-j", in: 1...1000)
    }

    private static let limitRate = Option(
        names: ["--limit-rate"], placeholder: "RATE",
        help: "at most RATE bytes a second, all transfers together:\n800, 500k, 1.5M (k is 1000)"
    ) { value, options throws(UsageError) in
        options.bytesPerSecond = try byteCount(value, "--limit-rate", "bytes a second")
    }

    private static let maximumSize = Option(
        names: ["--max-filesize"], placeholder: "SIZE",
        help: "fail if a file has more than SIZE bytes: 500k, 1.5M"
    ) { value, options throws(UsageError) in
        options.maximumByteCount = try byteCount(value, "--max-filesize", "bytes")
    }

    private static let timeout = Option(
        names: ["--timeout"], placeholder: "SECONDS", help: "fail if a server sends nothing for so long (60)"
    ) { value, options throws(UsageError) in
        options.timeout = try seconds(value, "--timeout")
    }

    private static let maximumTime = Option(
        names: ["--max-time"], placeholder: "SECONDS", help: "limit for each URL, retries included (none)"
    ) { value, options throws(UsageError) in
        options.maximumTime = try seconds(value, "--max-time")
    }

    private static let retry = Option(
        names: ["--retry"], placeholder: "N",
        help:
            "up to N more attempts (0) after an error that may pass:\nno connection, a broken or silent one, 408, 429, 5xx;\n"
            + "with pauses that grow, or as long as the server says"
    ) { value, options throws(UsageError) in
        options.retries = try wholeNumber(value, "--retry", in: 0...1000)
    }

    private static let failFast = Option(
        names: ["--fail-fast"], help: "stop everything at the first failure"
    ) { _, options in
        options.failsFast = true
    }

    private static let json = Option(
        names: ["--json"],
        help:
            "print a line of JSON for each URL on standard output:\nurl, status, bytes, file, seconds, attempts, result\n"
            + "(fetched, skipped, failed or cancelled), error"
    ) { _, options in
        options.writesJSON = true
    }

    private static let quiet = Option(
        names: ["-q", "--quiet"], help: "no progress and no summary, only errors"
    ) { _, options in
        options.isQuiet = true
    }

    private static let waterfall = Option(
        names: ["--waterfall"], placeholder: "FILE.svg",
        help:
            "draw a picture of when each transfer waited and ran;\na FILE that exists is replaced only with --overwrite"
    ) { value, options throws(UsageError) in
        options.waterfall = try fileName(value, "--waterfall")
    }

    private static let trace = Option(
        names: ["--trace"], placeholder: "FILE.json",
        help: "record every callback, for Perfetto or chrome://tracing"
    ) { value, options throws(UsageError) in
        options.trace = try fileName(value, "--trace")
    }

    private static let demo = Option(
        names: ["--demo"], help: "fetch from a server in this process: needs no network"
    ) { _, options in
        options.action = .demo
    }

    private static let version = Option(
        names: ["-V", "--version"], help: "show the version"
    ) { _, options in
        if options.action != .help { options.action = .version }
    }

    private static let help = Option(names: ["-h", "--help"], help: "show this text") { _, options in
        options.action = .help
    }

    private static let certificates = impossible(
        ["--cacert"], "FILE",
        "add the certificate to those of the system, on Debian with update-ca-certificates")
    private static let insecure = impossible(
        ["-k", "--insecure"], nil, "add the server's certificate to those of the system")

    private static func impossible(_ names: [String], _ placeholder: String?, _ hint: String) -> Option {
        Option(names: names, placeholder: placeholder, help: "") { _, _ throws(UsageError) in
            throw UsageError(
                problem:
                    "\(names.last ?? "") is not possible: Foundation checks certificates as the system does",
                hint: hint)
        }
    }
}
