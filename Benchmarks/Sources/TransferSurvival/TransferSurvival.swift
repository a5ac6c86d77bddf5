import Comparing
import Foundation

/// `swift run -c release TransferSurvival [options] [KIND…]`: transfers from and to servers that misbehave at random, with
/// cancels and time limits at random. Each kind runs in a process of its own, which must survive.
///
/// `traps` tries the answers that are known to stop the process, and `waiting` measures what a transfer that waits costs: both
/// fail when Foundation has been mended, so that Documentation and FoundationOnLinux are brought up to date. `framings` shows how
/// each kind of body is sent.
@main
struct TransferSurvival {
    static let usage = """
        usage: TransferSurvival [--count N] [--seed N] [KIND…]
               TransferSurvival traps
               TransferSurvival framings
               TransferSurvival waiting [--seconds N]
        kinds: \(Kind.allCases.map(\.rawValue).joined(separator: ", "))
        """

    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("TransferSurvival: \(error)\n".utf8))
            exit(error is InvalidArguments ? 2 : 1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        var (count, seed, seconds) = (1000, UInt64.random(in: 0...UInt64(UInt32.max)), 3.0)
        var words: [String] = []
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h": return print(usage)
            case "--count", "--seed", "--seconds":
                guard let text = rest.popFirst(), let number = UInt64(text) else {
                    throw InvalidArguments(description: "\(word) needs a number")
                }
                if word == "--count" { count = Int(number) }
                if word == "--seed" { seed = number }
                if word == "--seconds" { seconds = Double(number) }
            default: words.append(word)
            }
        }
        switch words.first {
        case "traps": try Traps.tryAll()
        case "trap"?: try await Traps.run(words[1])
        case "framings": try await Framings.checkAll()
        case "waiting" where words.count == 1: try await Waiting.measureAll(seconds)
        case "waiting"?: try await Waiting.run(words[1], at: URL(string: words[2])!, seconds)
        case "run"?:
            guard let kind = Kind(rawValue: words[1]) else { throw InvalidArguments(description: usage) }
            try await Survival(kind, count, seed).run()
        default:
            let kinds = try words.map { word in
                guard let kind = Kind(rawValue: word) else { throw InvalidArguments(description: usage) }
                return kind
            }
            try tryAll(kinds.isEmpty ? Kind.allCases : kinds, count, seed)
        }
    }

    /// Runs each kind in a process, and prints what came of it.
    private static func tryAll(_ kinds: [Kind], _ count: Int, _ seed: UInt64) throws {
        print("\(count) transfers of each kind, --seed \(seed)")
        var dead: [String] = []
        for kind in kinds {
            let child = try Child(["run", kind.rawValue, "--count", "\(count)", "--seed", "\(seed)"])
            let (output, ending) = child.finish()
            print("\(kind.rawValue): \(ending)\(output.isEmpty ? "" : "; ")\(output)")
            if ending != "survived" { dead.append(kind.rawValue) }
        }
        if !dead.isEmpty { throw Failure(description: "did not survive: \(dead.joined(separator: ", "))") }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// This program, run again.
struct Child {
    private let process = Process()
    private let pipe = Pipe()

    init(_ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        process.standardOutput = pipe
        // What Foundation prints before it stops the process.
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// Waits for its end; returns what it has printed, and how it has ended, in words.
    func finish() -> (output: String, ending: String) {
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let status = process.terminationStatus
        let ending =
            process.terminationReason == .uncaughtSignal
            ? "stopped by signal \(status)" : status == 0 ? "survived" : "exit code \(status)"
        return (output.trimmingCharacters(in: .whitespacesAndNewlines), ending)
    }
}
