/// What the command line asks for.
struct Options: Equatable, Sendable {
    /// What is to be done.
    enum Action: Equatable, Sendable { case fetch, demo, help }

    /// Where what is fetched goes.
    enum Output: Equatable, Sendable {
        /// Into the folder, each file named by its URL.
        case named
        /// Into this file.
        case file(String)
        case standardOutput
    }

    /// What is done about a destination that exists.
    enum Existing: String, Equatable, Sendable { case fail, overwrite, skip, resume }

    struct Header: Equatable, Sendable {
        let name: String
        let value: String
    }

    var action = Action.fetch
    /// As given: what is no URL is a failure of its own, later.
    var urls: [String] = []
    /// A file with more of them, `-` for standard input.
    var input: String?
    var output = Output.named
    var directory: String?
    var existing = Existing.fail
    /// Transfers at once.
    var jobs = 4
    /// The longest silence of a transfer.
    var timeout = Duration.seconds(60)
    /// How long a whole transfer may take, retries included.
    var maximumTime: Duration?
    /// Tries after the first.
    var retries = 0
    var headers: [Header] = []
    /// The URLs are mirrors of one thing.
    var takesFirst = false
    var failsFast = false
    var writesJSON = false
    var isQuiet = false
    /// Where the picture goes.
    var waterfall: String?
    /// Where the trace goes.
    var trace: String?
}
