import Foundation

@main
enum Fetch {
    static func main() {
        OutputStream.takeClosedDescriptors()
        // A pipe that nobody reads any more is an error of the write, not the end of the program.
        signal(SIGPIPE, SIG_IGN)
        Interrupts.hold()
        Task.detached { exit(await exitStatus()) }
        // All else is done on other threads. (The loop of an asynchronous `main` lets through the signals
        // that are held.)
        while true { pause() }
    }

    private static func exitStatus() async -> CInt {
        do throws(UsageError) {
            let options = try Options(parsing: CommandLine.arguments.dropFirst())
            switch options.action {
            case .help: try? OutputStream.standardOutput.write(Help.text)
            case .demo: return try await Demo.exitStatus(options)
            case .fetch: return try await Run.exitStatus(options)
            }
            return 0
        } catch {
            try? OutputStream.standardError.write("\(error)\n")
            return 2
        }
    }
}
