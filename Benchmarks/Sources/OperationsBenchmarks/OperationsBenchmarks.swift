import Comparing
import Foundation

/// `swift run -c release OperationsBenchmarks [options]`: compares transfers with DeferredOperations to plain
/// URLSession, and the fetcher to curl, wget and aria2c, each run in a process of its own.
@main
struct OperationsBenchmarks {
    static func main() async {
        do {
            switch try Role(CommandLine.arguments.dropFirst()) {
            case .help: print(TransferBenchmarkOptions.usage)
            case .serving: try await LoopbackFiles.serve()
            case .fetching(let way, let work): try await way.run(work)
            case .comparing(let options): try await TransferComparison(options).run()
            }
        } catch {
            FileHandle.standardError.write(Data("OperationsBenchmarks: \(error)\n".utf8))
            exit(error is InvalidArguments ? 2 : 1)
        }
    }
}

/// Selects what this process does: the comparison, or a part of it that needs a process of its own.
enum Role {
    case comparing(TransferBenchmarkOptions)
    case fetching(FetchMethod, FetchArguments)
    case serving
    case help

    init(_ arguments: ArraySlice<String>) throws {
        switch arguments.first {
        case "--help", "-h": self = .help
        case "serve": self = .serving
        case "fetch":
            let words = Array(arguments.dropFirst())
            guard words.count == 4, let way = FetchMethod(rawValue: words[0]), let atOnce = Int(words[3])
            else {
                throw InvalidArguments(
                    description: "fetch: expected an implementation, a list, a folder and a number")
            }
            let list = try String(contentsOfFile: words[1], encoding: .utf8)
            self = .fetching(
                way,
                FetchArguments(
                    urls: list.split(separator: "\n").map { URL(string: String($0))! }, into: words[2],
                    atOnce: atOnce))
        default: self = .comparing(try TransferBenchmarkOptions(arguments))
        }
    }
}
