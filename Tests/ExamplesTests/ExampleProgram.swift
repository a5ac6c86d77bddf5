import Deferred
import Foundation

/// A program of this package, run as its reader does.
struct ExampleProgram {
    let process = Process()
    /// Its exit status, or the number of the signal that ended it.
    let status: Deferred<Int32>
    private let standardOutput = Pipe()

    init(_ name: String, _ arguments: [String]) throws {
        process.executableURL = try Self.url(of: name)
        process.arguments = arguments
        process.standardOutput = standardOutput
        let (status, resolver) = Deferred<Int32>.withResolver()
        self.status = status
        process.terminationHandler = { resolver.resolve($0.terminationStatus) }
        try process.run()
    }

    /// What it has printed, after its end.
    var output: Data { standardOutput.fileHandleForReading.availableData }

    /// The program beside the test bundle, from the same build.
    private static func url(of name: String) throws -> URL {
        let starts =
            CommandLine.arguments + [Bundle.main.executablePath ?? ""] + Bundle.allBundles.map(\.bundlePath)
        for start in starts {
            var folder = URL(filePath: start)
            while folder.path.count > 1 {
                folder.deleteLastPathComponent()
                let program = folder.appending(path: name)
                let values = try? program.resourceValues(forKeys: [.isRegularFileKey, .isExecutableKey])
                if values?.isRegularFile == true { return program }
            }
        }
        throw NotBuilt(name: name)
    }

    struct NotBuilt: Error { let name: String }
}
