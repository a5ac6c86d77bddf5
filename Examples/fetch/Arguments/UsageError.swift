/// The command line can't be meant: what is wrong with it, and what to do instead. Nothing has been fetched.
struct UsageError: Error, Equatable, CustomStringConvertible {
    let problem: String
    var hint = "see 'fetch --help'"

    var description: String { "fetch: \(problem); \(hint)" }
}
