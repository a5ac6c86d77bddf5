import Deferred
import Foundation

/// Follows the links of a site and reports those that lead nowhere, as JSON:
///
///     linkcheck [--limit N] [--deadline SECONDS] [--silence SECONDS] URL
///     linkcheck --demo
///
/// Exit codes: 0 all links work, 1 some do not, 2 wrong usage, 3 the deadline has passed, 130 Ctrl-C. What was found
/// until then is reported in any case.
@main
enum Linkcheck {
    static func main() throws {
        guard let options = Options(CommandLine.arguments.dropFirst()) else {
            FileHandle.standardError.write(
                Data("linkcheck [--limit N] [--deadline SECONDS] [--silence SECONDS] URL | --demo\n".utf8))
            exit(2)
        }
        let interrupted = interruption()
        let server = options.isDemo ? try DemoSite.start() : nil
        let root = options.root ?? URL(string: server!.url("/"))!

        let crawler = Crawler(root, limit: options.limit, silence: .seconds(options.silence))
        let crawl = crawler.crawl().timeout(.seconds(options.deadline))
        interrupted.done { crawl.cancel() }

        let code: CInt
        do {
            try crawl.wait()
            code = crawler.report.broken.isEmpty ? 0 : 1
        } catch DeferredError.timedOut {
            code = 3
        } catch is CancellationError {
            code = 130
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        print(String(decoding: try encoder.encode(crawler.report), as: UTF8.self))
        server?.stop()
        exit(code)
    }

    /// Returns a Deferred that the first Ctrl-C resolves. The second one ends the program.
    private static func interruption() -> Deferred<Void> {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        // Before there are other threads, which inherit this: no signal is lost, however early it comes.
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let (interrupted, resolver) = Deferred<Void>.withResolver()
        Thread.detachNewThread { [signals] in
            var (signals, number) = (signals, CInt(0))
            sigwait(&signals, &number)
            resolver.resolve()
            sigwait(&signals, &number)
            exit(130)
        }
        return interrupted
    }
}

struct Options {
    var (limit, deadline, silence) = (4, 60, 10)
    var isDemo = false
    var root: URL?

    init?(_ arguments: some Sequence<String>) {
        let numbers = ["--limit": \Options.limit, "--deadline": \.deadline, "--silence": \.silence]
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            if let option = numbers[argument] {
                guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else { return nil }
                self[keyPath: option] = number
            } else if argument == "--demo" {
                isDemo = true
            } else {
                guard root == nil, let url = URL(string: argument), url.host != nil else { return nil }
                root = url
            }
        }
        if isDemo != (root == nil) { return nil }
    }
}
