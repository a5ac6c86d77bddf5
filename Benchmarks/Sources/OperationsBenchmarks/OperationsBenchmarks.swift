import Foundation

/// `swift run -c release OperationsBenchmarks [options]`: transfers with DeferredOperations beside plain
/// URLSession, and the fetcher beside curl, wget and aria2c, each run in a process of its own.
@main
struct OperationsBenchmarks {
    static func main() async {
        do {
            switch try Role(CommandLine.arguments.dropFirst()) {
            case .help: print(Options.usage)
            case .serving: try await LoopbackFiles.serve()
            case .fetching(let way, let work): try await way.run(work)
            case .comparing(let options): try await Comparison(options).run()
            }
        } catch {
            FileHandle.standardError.write(Data("OperationsBenchmarks: \(error)\n".utf8))
            exit(error is BadUsage ? 2 : 1)
        }
    }
}

/// What this process is for: the comparison, or a part of it that wants a process of its own.
enum Role {
    case comparing(Options)
    case fetching(Way, Work)
    case serving
    case help

    init(_ arguments: ArraySlice<String>) throws {
        switch arguments.first {
        case "--help", "-h": self = .help
        case "serve": self = .serving
        case "fetch":
            let words = Array(arguments.dropFirst())
            guard words.count == 4, let way = Way(rawValue: words[0]), let atOnce = Int(words[3]) else {
                throw BadUsage(description: "fetch: expected a way, a list, a folder and a number")
            }
            let list = try String(contentsOfFile: words[1], encoding: .utf8)
            self = .fetching(
                way,
                Work(
                    urls: list.split(separator: "\n").map { URL(string: String($0))! }, into: words[2],
                    atOnce: atOnce))
        default: self = .comparing(try Options(arguments))
        }
    }
}
