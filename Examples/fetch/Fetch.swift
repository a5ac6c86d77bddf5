import Foundation

@main
enum Fetch {
    static func main() {
        OutputDescriptor.takeClosedDescriptors()
        // Writing to a pipe without a reader is an error, and does not end the program.
        signal(SIGPIPE, SIG_IGN)
        Interrupts.block()
        Task.detached {
            let status = await exitStatus()
            #if canImport(FoundationNetworking)
            if CurlTransport.isInUse { _exit(status) }
            #endif
            exit(status)
        }
        // Everything else runs on other threads. (The loop of an asynchronous `main` would unblock the
        // signals.)
        while true { pause() }
    }

    /// That of the package.
    static let version = "0.1.0"

    private static func exitStatus() async -> CInt {
        do throws(UsageError) {
            try checkEncoding()
            let options = try Options(parsing: CommandLine.arguments.dropFirst())
            switch options.action {
            case .help: try? OutputDescriptor.standardOutput.write(Help.text)
            case .version: try? OutputDescriptor.standardOutput.write("fetch \(version)\n")
            case .demo: return try await Demo.exitStatus(options)
            case .fetch: return try await Run.exitStatus(options)
            }
            return 0
        } catch {
            try? OutputDescriptor.standardError.write("\(error)\n")
            return 2
        }
    }

    /// Throws if an argument is not UTF-8: in `CommandLine.arguments`, it would be another one.
    private static func checkEncoding() throws(UsageError) {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { return }
            if String(validatingCString: argument) == nil {
                throw UsageError(
                    problem: "argument \(index) is not UTF-8",
                    hint: "a name in another encoding cannot be used")
            }
        }
    }
}
