import Deferred
import Multicast
import Testing

@Suite struct TheChainTests {
    let journal = Journal()

    private struct Untidy: Error {}

    @Test(
        "The chain: the picture's chain takes each of its ways",
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
            journal.write("show \(number)")
            if number == 13 { throw Refused() }
        }
        @Sendable func report(_ error: any Error) { journal.write("report \(error)") }
        @Sendable func log(_ result: Result<Void, any Error>) {
            switch result {
            case .success: journal.write("success")
            case .failure(let error): journal.write("failure \(type(of: error)): \(error)")
            }
        }
        func attach(to page: Deferred<String>) {
            page
                .then { try parse($0) }
                .fail { try cached($0) }
                .then {
                    try show($0)
                } fail: {
                    report($0)
                }
                .both { result in log(result) }
        }
        attach(to: failure.map { .rejected($0) } ?? .resolved(text))
        #expect(journal.all.joined(separator: ", ") == expected)
    }

    @Test("The chain: both who attach to a handle see its value")
    func positions() throws {
        @Sendable func fetchPage(at address: String) -> Deferred<String> { .resolved("a page") }
        let page = fetchPage(at: "/index")
        let length = page.then { $0.count }
        let shout = page.then { $0.uppercased() }
        #expect(try length.currentResult?.get() == 6)
        #expect(try shout.currentResult?.get() == "A PAGE")
    }

    @Test("The chain: a loop is a recursion")
    func loop() throws {
        let queue = DeferredQueue<Int?>()
        struct Pieces: Sendable {
            let queue: DeferredQueue<Int?>
            func next() -> Deferred<Int?> { queue.get() }
        }
        let source = Pieces(queue: queue)
        let total = SynchronizedValue(0)
        @Sendable func readAll() -> Deferred<Int> {
            source.next().then { piece -> Deferred<Int> in
                guard let piece else { return .resolved(total.read { $0 }) }
                total.write { $0 += piece }
                return readAll()
            }
        }
        let all = readAll()
        for piece in [1, 2, 3, nil] { try queue.put(piece) }
        #expect(try all.currentResult?.get() == 6)
    }

    @Test("The chain: callbacks of several statements say what they return")
    func returnTypes() throws {
        let page = Deferred<String>()
        let log = journal
        let shout = page.then { text -> String in
            let trimmed = text.prefix(80)
            return trimmed.uppercased()
        }
        page.fail { error -> Void in
            log.write("no page: \(error)")
            log.write("nothing shown")
        }
        page.reject(Refused())
        #expect(journal.all == ["no page: refused", "nothing shown"])
        #expect(throws: Refused.self) { try shout.currentResult?.get() }
    }

    @Test("The chain: what it may begin with")
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
