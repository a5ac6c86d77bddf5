import Comparing

/// The command-line options.
struct TransferBenchmarkOptions {
    var rounds = 7
    var atOnce = 8
    /// The URL of the files to fetch; nil to start a server.
    var urlBase: String?
    /// The path of the built fetcher; nil to leave it out.
    var fetcher: String?
    /// The temporary folder for fetched files.
    var folder: String?
    var jobs = FileSet.allCases
    /// Whether bodies are read in pieces, and nothing is saved.
    var streams = false

    static let usage = """
        usage: OperationsBenchmarks [options]
          Fetches 1,000 files of 4 KB, and 5 of 200 MB, from a server on this machine: with DeferredOperations, with plain
          URLSession, and with curl, wget and aria2c as far as they are installed. Rounds are taken in turn, and each
          command's round is a process of its own. The server is nginx if that is installed.

          --fetch FILE         measure the fetcher too: the program that `swift build -c release --product fetch` built
          --jobs small|large   only this job
          --streams            read bodies in pieces instead, with StreamDataSource and with plain URLSession's delegate
          --at-once N          transfers at once (8)
          --rounds N           rounds of each (7)
          --url-base URL       a server that is running, with files small/0 to small/999 and large/0 to large/4
          --folder DIR         temporary folder for fetched files; with one in memory, the disk does not count
          --help
        """

    init(_ arguments: some Sequence<String>) throws {
        var remaining = Array(arguments)[...]
        while let argument = remaining.popFirst() {
            func value() throws -> String {
                guard let value = remaining.popFirst() else {
                    throw InvalidArguments(description: "\(argument) needs a value")
                }
                return value
            }
            func number() throws -> Int {
                let text = try value()
                guard let number = Int(text), number > 0 else {
                    throw InvalidArguments(description: "\(argument): \(text) is not a positive number")
                }
                return number
            }
            switch argument {
            case "--fetch": fetcher = try value()
            case "--streams": streams = true
            case "--at-once": atOnce = try number()
            case "--rounds": rounds = try number()
            case "--url-base": urlBase = try value()
            case "--folder": folder = try value()
            case "--jobs":
                let name = try value()
                guard let job = FileSet(rawValue: name) else {
                    throw InvalidArguments(description: "--jobs: \(name) is neither small nor large")
                }
                jobs = [job]
            default: throw InvalidArguments(description: "unknown option \(argument); see --help")
            }
        }
    }
}
