import Foundation

@main
enum Fetch {
    static func main() {
        OutputDescriptor.takeClosedDescriptors()
        // Writing to a pipe without a reader is an error, and does not end the program.
        signal(SIGPIPE, SIG_IGN)
        Interrupts.block()
        Task.detached { exit(await exitStatus()) }
        // Everything else runs on other threads. (The loop of an asynchronous `main` would unblock the
        // signals.)
        while true { pause() }
    }

    private static func exitStatus() async -> CInt {
        do throws(UsageError) {
            let options = try Options(parsing: CommandLine.arguments.dropFirst())
            switch options.action {
            case .help: try? OutputDescriptor.standardOutput.write(Help.text)
            case .demo: return try await Demo.exitStatus(options)
            case .fetch: return try await Run.exitStatus(options)
            }
            return 0
        } catch {
            try? OutputDescriptor.standardError.write("\(error)\n")
            return 2
        }
    }
}
