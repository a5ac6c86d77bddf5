/// An error in the command line, with a hint. Nothing has been fetched.
struct UsageError: Error, Equatable, CustomStringConvertible {
    let problem: String
    var hint = "see 'fetch --help'"

    var description: String { "fetch: \(problem); \(hint)" }
}
