import DeferredOperations

/// Options that contradict each other.
extension Options {
    /// Throws if options contradict each other, as far as that is known before `--input` has been read.
    func checkForContradictions() throws(UsageError) {
        if action != .help, action != .version, let trace, trace == waterfall {
            throw .contradiction("--waterfall and --trace", "both want \(trace)")
        }
        switch action {
        case .help, .version: return
        case .demo: return try checkDemo()
        case .fetch: break
        }
        guard !urls.isEmpty || input != nil else {
            throw UsageError(problem: "no URL was given", hint: "try 'fetch --demo', or see 'fetch --help'")
        }
        if takesFirst, triesMirrors {
            throw .contradiction("--first and --mirrors", "mirrors either race or continue each other")
        }
        if isOneFile, failsFast {
            throw .contradiction(
                "\(takesFirst ? "--first" : "--mirrors") and --fail-fast",
                "one mirror may fail as long as another works")
        }
        if takesFirst, existing == .resume {
            throw .contradiction("--first and --continue", "a part file has the contents of one mirror only")
        }
        if takesFirst, existing == .newer {
            throw .contradiction("--first and --newer", "each mirror has a date of its own")
        }
        if usesRemoteName {
            if output != .named { throw .contradiction("--remote-name and -o", "both name the file") }
            if existing == .resume || existing == .newer {
                throw .contradiction(
                    "--remote-name and \(Self.name(of: existing))",
                    "which file that is, only the answer will say")
            }
        }
        if !storesAsSent, headers.contains(where: { $0.name.lowercased() == "host" && $0.value == nil }) {
            throw UsageError(
                problem: "-H 'Host:' is not possible: Foundation always sends that header",
                hint: TransferSession.canStoreAsSent
                    ? "with --raw, it is left out" : "-H 'Host: NAME' changes it")
        }
        if output == .standardOutput {
            if writesJSON { throw .contradiction("--json and -o -", "both want standard output") }
            if directory != nil { throw .contradiction("-o - and -d", "standard output is in no folder") }
            // A picture or a trace may still replace a file.
            if existing != .fail, existing != .overwrite || sideFiles.isEmpty {
                throw .contradiction("-o - and \(Self.name(of: existing))", "standard output is not a file")
            }
        }
        if input == nil { try checkCount(urls.count) }
    }

    /// Throws if `count` URLs are too many for the other options.
    func checkCount(_ count: Int) throws(UsageError) {
        guard count > 1, !isOneFile else { return }
        if output != .named {
            throw UsageError(
                problem: "-o is for one URL, and there are \(count)",
                hint: "use -d for a folder, or --mirrors if they are mirrors of one file")
        }
        if checksum != nil {
            throw UsageError(
                problem: "--checksum is for one URL, and there are \(count)",
                hint: "fetch them one by one, or use --mirrors if they are mirrors of one file")
        }
    }

    private func checkDemo() throws(UsageError) {
        var plain = Options()
        plain.action = .demo
        plain.directory = directory
        plain.waterfall = waterfall
        plain.trace = trace
        if !sideFiles.isEmpty, existing == .overwrite { plain.existing = .overwrite }
        plain.jobs = jobs
        guard self == plain else {
            throw UsageError(
                problem: "--demo has its own URLs and settings",
                hint:
                    "of the other options it takes -d, -j, --waterfall and --trace, the last two with --overwrite"
            )
        }
    }

    /// The option for a choice.
    static func name(of existing: Existing) -> String {
        switch existing {
        case .fail: "no choice"
        case .overwrite: "--overwrite"
        case .skip: "--skip-existing"
        case .resume: "--continue"
        case .newer: "--newer"
        }
    }
}

extension UsageError {
    static func contradiction(_ options: String, _ reason: String) -> UsageError {
        UsageError(problem: "\(options) contradict each other: \(reason)", hint: "leave one out")
    }
}
