import Deferred
import Multicast
import TestSupport
import Testing

@Suite struct TheChainTests {
    let eventLog = SharedLog<String>()

    private struct Untidy: Error {}

    @Test(
        "The chain: the chain of the picture follows each of its paths",
        arguments: [
            ("7", nil, "show 7, success"), ("x", nil, "show 0, success"), ("", Refused(), "show 0, success"),
            ("", Untidy(), "report Untidy(), success"), ("13", nil, "show 13, failure Refused: refused"),
        ] as [(String, (any Error)?, String)])
    func picture(text: String, failure: (any Error)?, expected: String) {
        @Sendable func parse(_ text: String) throws -> Int {
            guard let number = Int(text) else { throw Refused() }
            return number
        }
        @Sendable func cached(_ error: any Error) throws -> Int {
            if error is Untidy { throw error }
            return 0
        }
        @Sendable func show(_ number: Int) throws {
            eventLog.add("show \(number)")
            if number == 13 { throw Refused() }
        }
        @Sendable func report(_ error: any Error) { eventLog.add("report \(error)") }
        @Sendable func log(_ result: Result<Void, any Error>) {
            switch result {
            case .success: eventLog.add("success")
            case .failure(let error): eventLog.add("failure \(type(of: error)): \(error)")
            }
        }
        func attach(to page: Deferred<String>) {
            page
                .map { try parse($0) }
                .recover { try cached($0) }
                .done {
                    try show($0)
                } fail: {
                    report($0)
                }
                .both { result in log(result) }
        }
        attach(to: failure.map { .rejected($0) } ?? .resolved(text))
        #expect(eventLog.all.joined(separator: ", ") == expected)
    }

    @Test("The chain: two callbacks on one handle receive its value")
    func positions() throws {
        @Sendable func fetchPage(at address: String) -> Deferred<String> { .resolved("a page") }
        let page = fetchPage(at: "/index")
        let length = page.map { $0.count }
        let shout = page.map { $0.uppercased() }
        #expect(try length.currentResult?.get() == 6)
        #expect(try shout.currentResult?.get() == "A PAGE")
    }

    @Test("The chain: a callback returns a Deferred, and the chain waits for it")
    func nested() throws {
        let fetched = Deferred<String>()
        @Sendable func findPage(named name: String) -> Deferred<String> { .resolved("/\(name)") }
        @Sendable func fetchPage(at address: String) -> Deferred<String> { fetched.map { $0 + address } }
        let length = findPage(named: "index")
            .then { address in fetchPage(at: address) }
            .map { page in page.count }
        #expect(length.currentResult == nil)
        fetched.resolve("page at ")
        #expect(try length.currentResult?.get() == "page at /index".count)
    }

    @Test("The chain: a loop can be written as a recursion")
    func loop() throws {
        let queue = DeferredQueue<Int?>()
        struct Pieces: Sendable {
            let queue: DeferredQueue<Int?>
            func next() -> Deferred<Int?> { queue.get() }
        }
        let source = Pieces(queue: queue)
        let total = SynchronizedValue(0)
        @Sendable func readAll() -> Deferred<Int> {
            source.next().then { piece in
                guard let piece else { return Deferred.resolved(total.read { $0 }) }
                total.write { $0 += piece }
                return readAll()
            }
        }
        let all = readAll()
        for piece in [1, 2, 3, nil] { try queue.put(piece) }
        #expect(try all.currentResult?.get() == 6)
    }

    @Test("The chain: how chains begin")
    func beginnings() async throws {
        @Sendable func parse(_ text: String) throws -> Int {
            guard let number = Int(text) else { throw Refused() }
            return number
        }
        let text = "12"
        let parsed = Deferred(catching: { try parse(text) })
        let shouted = Deferred { try await text.shouted() }
        let known = Deferred.resolved(text)
        #expect(try parsed.currentResult?.get() == 12)
        #expect(try await shouted.value == "12")
        #expect(try known.currentResult?.get() == "12")
        let (answer, resolver) = Deferred<Int>.withResolver()
        resolver.resolve(42)
        #expect(try answer.currentResult?.get() == 42)
    }
}
