/// Options that can't be meant together.
extension Options {
    /// Throws what contradicts itself, as far as that can be told before `--input` has been read.
    func checkForContradictions() throws(UsageError) {
        if action != .help, let trace, trace == waterfall {
            throw .contradiction("--waterfall and --trace", "both want \(trace)")
        }
        switch action {
        case .help: return
        case .demo: return try checkDemo()
        case .fetch: break
        }
        guard !urls.isEmpty || input != nil else {
            throw UsageError(problem: "no URL was given", hint: "try 'fetch --demo', or see 'fetch --help'")
        }
        if takesFirst, failsFast {
            throw .contradiction(
                "--first and --fail-fast", "with --first a failed mirror is what the others are for")
        }
        if takesFirst, existing == .resume {
            throw .contradiction("--first and --continue", "which mirror a part file came from can't be told")
        }
        if output == .standardOutput {
            if writesJSON { throw .contradiction("--json and -o -", "both want standard output") }
            if directory != nil { throw .contradiction("-o - and -d", "standard output is in no folder") }
            // A picture or a trace may still have to replace something.
            if existing != .fail, existing != .overwrite || sideFiles.isEmpty {
                throw .contradiction("-o - and \(Self.name(of: existing))", "standard output is no file")
            }
        }
        if input == nil { try checkCount(urls.count) }
    }

    /// Throws if so many URLs can't go where they are to go.
    func checkCount(_ count: Int) throws(UsageError) {
        guard output != .named, count > 1, !takesFirst else { return }
        throw UsageError(
            problem: "-o is for one URL, and there are \(count)",
            hint: "use -d for a folder, or --first if they are mirrors of one thing")
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
                problem: "--demo brings its own URLs and settings",
                hint:
                    "of the other options it takes -d, -j, --waterfall and --trace, and --overwrite for these"
            )
        }
    }

    /// How the choice is written.
    static func name(of existing: Existing) -> String {
        switch existing {
        case .fail: "no choice"
        case .overwrite: "--overwrite"
        case .skip: "--skip-existing"
        case .resume: "--continue"
        }
    }
}

extension UsageError {
    static func contradiction(_ options: String, _ reason: String) -> UsageError {
        UsageError(problem: "\(options) contradict each other: \(reason)", hint: "leave one out")
    }
}
