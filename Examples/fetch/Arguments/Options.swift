/// The command line, parsed.
struct Options: Equatable, Sendable {
    enum Action: Equatable, Sendable { case fetch, demo, help, version }

    /// Where the contents of URLs are written.
    enum Output: Equatable, Sendable {
        /// Into the folder, each file named by its URL.
        case named
        case file(String)
        case standardOutput
    }

    /// What to do with a file at the destination.
    enum Existing: String, Equatable, Sendable { case fail, overwrite, skip, resume, newer }

    struct Header: Equatable, Sendable {
        let name: String
        /// Nil for a header that is not to be sent.
        let value: String?
    }

    var action = Action.fetch
    /// Unchecked: a malformed URL becomes a failed download later.
    var urls: [String] = []
    /// A file with more URLs, `-` for standard input.
    var input: String?
    var output = Output.named
    var directory: String?
    var existing = Existing.fail
    /// Whether a new file has the date that the server sends.
    var keepsServerTime = false
    /// Whether the server names the file.
    var usesRemoteName = false
    /// Whether a body is stored as it is sent, also if it is marked as compressed.
    var storesAsSent = false
    /// The file with the passwords of hosts, "" for the one in the home folder; nil for none.
    var netrc: String?
    /// What that file contains, once it has been read.
    var credentials = Netrc()
    /// Transfers at once.
    var jobs = 4
    /// The limit for all transfers together; nil for none.
    var bytesPerSecond: Int64?
    /// The largest file; nil for no limit.
    var maximumByteCount: Int64?
    /// The longest silence of a transfer.
    var timeout = Duration.seconds(60)
    /// The time limit for a whole transfer, retries included.
    var maximumTime: Duration?
    /// Attempts after the first.
    var retries = 0
    var headers: [Header] = []
    /// The checksum of the one file that is fetched.
    var checksum: Checksum?
    /// Whether the URLs are mirrors of one file, which race.
    var takesFirst = false
    /// Whether the URLs are mirrors of one file, which continue each other.
    var triesMirrors = false
    /// Whether the URLs are of one file.
    var isOneFile: Bool { takesFirst || triesMirrors }
    var failsFast = false
    var writesJSON = false
    var isQuiet = false
    /// The file for the picture.
    var waterfall: String?
    /// The file for the trace.
    var trace: String?
}
