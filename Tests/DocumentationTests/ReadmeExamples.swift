// The code of README.md, in types that supply what it uses. `ReadmeTests` runs it.
import Deferred
import DeferredOperations
import DeferredTesting
import DeferredTracing
import Foundation
import Multicast
import Testing

struct ReadmeBasic {
    let print: @Sendable (String) -> Void

    func run() {
        let greeting = Deferred<String>()

        greeting
            .done { print("Hello, \($0)!") }
            .fail { print("Nobody to greet: \($0)") }

        greeting.resolve("world")
    }
}

struct ReadmeCallbackAPI {
    let loadFile:
        @Sendable (_ name: String, _ completion: @escaping @Sendable ([UInt8]?, (any Error)?) -> Void) -> Void

    func loadFile(named name: String, _ completion: @escaping @Sendable ([UInt8]?, (any Error)?) -> Void) {
        loadFile(name, completion)
    }

    func load(_ name: String) -> Deferred<[UInt8]> {
        Deferred { resolver in
            loadFile(named: name) { bytes, error in resolver.complete(bytes, error) }
        }
    }
}

struct ReadmeComposition {
    struct Service: Sendable {
        let logIn: @Sendable (String) -> Deferred<Int>
        let profileOf: @Sendable (Int) -> Deferred<String>
        let friendsOf: @Sendable (Int) -> Deferred<[String]>

        func profile(in session: Int) -> Deferred<String> { profileOf(session) }
        func friends(in session: Int) -> Deferred<[String]> { friendsOf(session) }
    }

    struct Screen: Sendable {
        let draw: @Sendable (String) -> Void

        func show(_ profile: String, _ friends: [String]) { draw("\(profile) with \(friends)") }
        func show(_ error: any Error) { draw("\(error)") }
    }

    let service: Service
    let screen: Screen

    func showHome(for name: String) -> Deferred<Void> {
        service.logIn(name)
            .then { session in
                gather(service.profile(in: session), service.friends(in: session))
            }
            .done { profile, friends in
                screen.show(profile, friends)
            }
            .fail { error in
                screen.show(error)
            }
    }
}

struct ReadmePages {
    let findPage: @Sendable (String) -> Deferred<String>
    let fetchPage: @Sendable (String) -> Deferred<String>
    let addresses: [String]
    let print: @Sendable (String) -> Void

    func findPage(named name: String) -> Deferred<String> { findPage(name) }
    @Sendable func fetchPage(at address: String) -> Deferred<String> { fetchPage(address) }

    func nested() -> Deferred<Int> {
        let length = findPage(named: "index")
            .then { address in fetchPage(at: address) }
            .map { page in page.count }
        return length
    }

    func awaited() async throws -> String {
        let page = try await fetchPage(at: "/index").value
        let shout = Deferred { try await page.shouted() }
        return try await shout.value
    }

    func testing() throws {
        let clock = ManualClock()
        let page = fetchPage(at: "/slow").timeout(.seconds(5), on: clock)
        clock.advance(by: .seconds(4))
        try expectNoResult(page)
        clock.advance(by: .seconds(1))
        #expect(try failureResult(of: page) as? DeferredError == .timedOut)

        let length = fetchPage(at: "/index").map { $0.count }
        #expect(try successResult(of: length) == 6)
    }

    func recorded(in traceFile: URL) async throws {
        let recording = DeferredDiagnostics.startRecording()
        let length = fetchPage(at: "/index").map { $0.count }
        _ = try await length.value
        recording.stop()

        try recording.chromeTrace().write(to: traceFile, atomically: true, encoding: .utf8)
        print(recording.mermaidGraph())
    }

    func race() {
        let mirrors = DeferredList(addresses.map(fetchPage), cancelsRemaining: true)

        mirrors.first().done { index, page in
            print("\(addresses[index]) was first, with \(page.count) characters")
        }
    }
}

enum ReadmeCache {
    static let requests = DeferredQueue<Deferred<String>>()

    static func fetchPage(at address: String) -> Deferred<String> {
        let request = Deferred<String>()
        try? requests.put(request)
        return request
    }

    static func share() -> (first: Deferred<String>, second: Deferred<String>) {
        let pages = DeferredCache<String, String>(keepingFor: .seconds(60))

        func page(at address: String) -> Deferred<String> {
            pages.value(for: address) { fetchPage(at: address) }
        }
        return (page(at: "/index"), page(at: "/index"))
    }
}

struct ReadmeFinalizer {
    struct Connection: Sendable {
        let open: @Sendable () -> Deferred<Void>
        let ask: @Sendable (String) -> Deferred<String>
        let close: @Sendable () -> Void
    }

    let connection: Connection
    let print: @Sendable (String) -> Void

    func run() {
        connection.open()
            .then { connection.ask("How are you?") }
            .done { answer in print(answer) }
            .finally { _ in connection.close() }
    }
}

struct ReadmeFetching {
    let addresses: [URL]
    let print: @Sendable (String) -> Void

    func run() {
        let queue = OperationQueue()

        DeferredList(addresses.map { URLDataSource($0).request(on: queue) }).values()
            .map { pages in pages.map(\.data).min { $0.count < $1.count } ?? Data() }
            .done { shortest in print(String(decoding: shortest, as: UTF8.self)) }
            .fail { error in print("\(error)") }
    }
}

struct ReadmeTime {
    let loadText: @Sendable (String) -> Deferred<String>
    let showSpinner: @Sendable () -> Void

    func load(_ name: String) -> Deferred<String> { loadText(name) }

    func run() -> (text: Deferred<String>, spinner: Deferred<Void>) {
        let text = Deferred.retry(attempts: 3, delay: .constant(.seconds(1))) {
            load("index").timeout(.seconds(5))
        }
        let spinner = Deferred.after(.milliseconds(250)).done { showSpinner() }
        text.finally { _ in spinner.cancel() }
        return (text, spinner)
    }
}

enum ReadmeScreen {
    @MainActor static var request = Deferred<String>()
    @MainActor static var shown: [String] = []

    @MainActor static func fetchPage(at address: String) -> Deferred<String> { request }

    @MainActor final class PageScreen {
        private var loading: Deferred<Void>?

        func appear() {
            loading = fetchPage(at: "/index")
                .done(on: MainActor.self) { [weak self] page in self?.show(page) }
        }

        func disappear() { loading?.cancel() }
    }
}

extension ReadmeScreen.PageScreen {
    func show(_ page: String) { ReadmeScreen.shown.append(page) }
}

protocol Plugin: AnyObject {
    func mayClose() -> Bool
}

struct ReadmePlugins {
    let spelling: any Plugin
    let printing: any Plugin
    let closeDocument: @Sendable () -> Void

    func run() -> Deferred<Void> {
        let closeDocument = closeDocument
        let plugins = MulticastDelegate<any Plugin>()
        plugins.add(spelling, on: .main)
        plugins.add(printing, on: nil)

        plugins.all { $0.mayClose() }.done { everybodyAgrees in
            if everybodyAgrees { closeDocument() }
        }
        return plugins.all { $0.mayClose() }.done { _ in }
    }
}

struct ReadmeTransfers {
    struct WrongChecksum: Error {}

    struct Parser: Sendable {
        let consume: @Sendable (Data) -> Void
        func consume(_ piece: Data) { consume(piece) }
    }

    let address: URL
    let mirrors: [URL]
    let destination: URL
    let expected: Int
    let parser: Parser

    func checksum(of file: URL) throws -> Int {
        try Data(contentsOf: file).reduce(0) { $0 + Int($1) }
    }

    func run() async throws -> Deferred<DownloadDataSource.File> {
        let (expected, queue) = (expected, OperationQueue())
        let source = StreamDataSource(address)
        let request = source.request(on: queue)
        for try await piece in source.body {
            parser.consume(piece)
        }

        let options = DownloadOptions(mirrors: mirrors) { part in
            guard try checksum(of: part) == expected else { throw WrongChecksum() }
        }
        let file = DownloadDataSource(address, to: destination, options: options).request(on: queue)
        _ = request
        return file
    }
}

struct ReadmeCoordination {
    let count: Deferred<Int>
    let written: @Sendable (Int) -> Void
    let fetch: @Sendable (String) -> Deferred<String>
    let addresses: [String]
    let print: @Sendable (String) -> Void

    func readCount() -> Deferred<Int> { count }
    func writeCount(_ count: Int) -> Deferred<Void> { Deferred(catching: { written(count) }) }
    func fetchPage(at address: String) -> Deferred<String> { fetch(address) }
    func perform(_ job: String) { print(job) }

    func run() throws -> (saved: Deferred<Void>, pages: [Deferred<String>]) {
        let lock = DeferredLock()
        let saved = lock.run {
            readCount().then { count in writeCount(count + 1) }
        }

        let connections = DeferredSemaphore(4)
        let pages = addresses.map { address in
            connections.run { fetchPage(at: address) }
        }

        let jobs = DeferredQueue<String>(size: 100)
        let worker = jobs.run { job in perform(job) }
        try jobs.put("tidy up")
        jobs.finish()
        worker.done { print("all jobs are done") }
        return (saved, pages)
    }
}

struct ReadmeChannel {
    final class Window: Sendable {
        let draw: @Sendable (String) -> Void
        init(_ draw: @escaping @Sendable (String) -> Void) { self.draw = draw }
        func show(_ line: String) { draw(line) }
    }

    let window: Window

    func run() -> Int? {
        let chat = Channel<String>("chat")
        chat.listen(window) { window, line in window.show(line) }
        chat.post("hello")

        let scores = SynchronizedValue<[String: Int]>([:])
        scores.write { $0["ada", default: 0] += 1 }
        let score = scores.read { $0["ada"] }
        return score
    }
}
