/// One option: how it is written, what it is for, and what it changes.
struct Option: Sendable {
    /// Short and long, with their dashes.
    let names: [String]
    /// What stands for its value in the help; nil for one that takes none.
    var placeholder: String?
    /// Lines of the help.
    let help: String
    /// Takes the value, or "" where there is none.
    let apply: @Sendable (_ value: String, inout Options) throws(UsageError) -> Void

    /// A heading in the help, and the options under it.
    struct Group: Sendable {
        let title: String
        let options: [Option]
    }

    /// All that there are, as the help shows them.
    static let groups = [
        Group(title: "Where files go", options: [output, directory, overwrite, skipExisting, resume]),
        Group(title: "What is fetched", options: [input, header, first]),
        Group(title: "How", options: [jobs, timeout, maximumTime, retry, failFast]),
        Group(title: "What is shown", options: [json, quiet, waterfall, trace, demo, help]),
    ]

    private static let output = Option(
        names: ["-o", "--output"], placeholder: "FILE",
        help: "one URL: to FILE, or to standard output with '-'; a pipe or a device\nis written to, and stays"
    ) { value, options in
        options.output = value == "-" ? .standardOutput : .file(value)
    }

    private static let directory = Option(
        names: ["-d", "--directory"], placeholder: "DIR", help: "into DIR, which is made if it is missing"
    ) { value, options in
        options.directory = value
    }

    private static let overwrite = existing(
        "--overwrite", .overwrite,
        "replace files that exist, once the new one is whole; of a symbolic\nlink, the file that it leads to")
    private static let skipExisting = existing("--skip-existing", .skip, "leave files that exist as they are")
    private static let resume = existing(
        "--continue", .resume,
        "go on with a part file if the server still has the same thing;\na whole file counts as done")

    private static func existing(_ name: String, _ existing: Options.Existing, _ help: String) -> Option {
        Option(names: [name], help: help) { _, options throws(UsageError) in
            if options.existing != .fail, options.existing != existing {
                throw .contradiction(
                    "\(Options.name(of: options.existing)) and \(name)",
                    "say one thing about files that exist")
            }
            options.existing = existing
        }
    }

    private static let input = Option(
        names: ["--input"], placeholder: "FILE",
        help:
            "URLs from FILE, or from standard input with '-', one a line;\nblank lines and lines that begin with '#' are passed over"
    ) { value, options in
        options.input = value
    }

    private static let header = Option(
        names: ["-H", "--header"], placeholder: "'Name: value'",
        help: "send this header too; may be given again"
    ) { value, options throws(UsageError) in
        options.headers.append(try .parsed(value))
    }

    private static let first = Option(
        names: ["--first"],
        help: "the URLs are mirrors of one thing: the first to finish wins,\nthe rest are cancelled"
    ) { _, options in
        options.takesFirst = true
    }

    private static let jobs = Option(
        names: ["-j", "--jobs"], placeholder: "N", help: "transfers at once (4)"
    ) { value, options throws(UsageError) in
        options.jobs = try wholeNumber(value, "-j", in: 1...1000)
    }

    private static let timeout = Option(
        names: ["--timeout"], placeholder: "SECONDS", help: "longest silence of a transfer (60)"
    ) { value, options throws(UsageError) in
        options.timeout = try seconds(value, "--timeout")
    }

    private static let maximumTime = Option(
        names: ["--max-time"], placeholder: "SECONDS", help: "a whole transfer at most, retries included"
    ) { value, options throws(UsageError) in
        options.maximumTime = try seconds(value, "--max-time")
    }

    private static let retry = Option(
        names: ["--retry"], placeholder: "N",
        help:
            "more tries, each after a longer pause, of what may pass:\n5xx, 408, 429, broken or silent connections (0)"
    ) { value, options throws(UsageError) in
        options.retries = try wholeNumber(value, "--retry", in: 0...1000)
    }

    private static let failFast = Option(
        names: ["--fail-fast"], help: "stop everything at the first failure"
    ) { _, options in
        options.failsFast = true
    }

    private static let json = Option(
        names: ["--json"], help: "a JSON object for each URL on standard output, a line each"
    ) { _, options in
        options.writesJSON = true
    }

    private static let quiet = Option(
        names: ["-q", "--quiet"], help: "no progress and no summary: errors alone"
    ) { _, options in
        options.isQuiet = true
    }

    private static let waterfall = Option(
        names: ["--waterfall"], placeholder: "FILE.svg",
        help: "a picture of when each transfer waited and ran"
    ) { value, options throws(UsageError) in
        options.waterfall = try fileName(value, "--waterfall")
    }

    private static let trace = Option(
        names: ["--trace"], placeholder: "FILE.json",
        help: "every callback, and what waited for what, to look at in Perfetto\nor chrome://tracing"
    ) { value, options throws(UsageError) in
        options.trace = try fileName(value, "--trace")
    }

    private static let demo = Option(
        names: ["--demo"], help: "no network needed: start a server in this process and fetch from it"
    ) { _, options in
        options.action = .demo
    }

    private static let help = Option(names: ["-h", "--help"], help: "this text") { _, options in
        options.action = .help
    }
}
