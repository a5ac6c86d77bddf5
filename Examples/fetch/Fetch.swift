import Foundation

@main
enum Fetch {
    static func main() async {
        // A pipe that nobody reads any more is an error of the write, not the end of the program.
        signal(SIGPIPE, SIG_IGN)
        do throws(UsageError) {
            let options = try Options(parsing: CommandLine.arguments.dropFirst())
            switch options.action {
            case .help: try? OutputStream.standardOutput.write(Help.text)
            case .demo: exit(await Demo.exitStatus(options))
            case .fetch: exit(try await Run.exitStatus(options))
            }
        } catch {
            try? OutputStream.standardError.write("\(error)\n")
            exit(2)
        }
    }
}
