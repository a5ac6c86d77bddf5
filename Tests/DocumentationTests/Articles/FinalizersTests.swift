import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite struct FinalizersTests: Article {
    let eventLog = SharedLog<String>()

    private struct Connection: Sendable {
        let opening: Deferred<Void>
        let answer: Deferred<String>
        let eventLog: SharedLog<String>

        func open() -> Deferred<Void> { opening }
        func ask(_ question: String) -> Deferred<String> { answer }
        func close() { eventLog.add("closed") }
    }

    @Test(
        "Finalizers: at the end of a chain it runs last, whether opening takes time or not",
        arguments: [true, false])
    func atTheEnd(opensAtOnce: Bool) {
        let connection = Connection(opening: Deferred(), answer: Deferred(), eventLog: eventLog)
        if opensAtOnce { connection.opening.resolve() }
        connection.open()
            .then { connection.ask("How are you?") }
            .done { answer in print(answer) }
            .finally { _ in connection.close() }
        if !opensAtOnce { connection.opening.resolve() }
        #expect(eventLog.all == [])
        connection.answer.resolve("well")
        #expect(eventLog.all == ["well", "closed"])
    }

    @Test("Finalizers: always runs at its position")
    func always() throws {
        struct Spinner: Sendable {
            let eventLog: SharedLog<String>
            func stop() { eventLog.add("stopped") }
        }
        let spinner = Spinner(eventLog: eventLog)
        @Sendable func fetchPage(at address: String) -> Deferred<String> { .resolved("page") }
        let length = fetchPage(at: "/index")
            .always { _ in spinner.stop() }
            .map { $0.count }  // runs after the spinner has stopped
        #expect(try successResult(of: length) == 4)
        #expect(eventLog.all == ["stopped"])
        // Before what is attached to its result; a finalizer runs after that.
        let page = Deferred<String>()
        page.always { _ in eventLog.add("always") }.done { _ in eventLog.add("after always") }
        page.finally { _ in eventLog.add("finally") }
        page.resolve("page")
        #expect(eventLog.all.dropFirst() == ["always", "after always", "finally"])
        // What the closure throws replaces the outcome.
        let failed = Deferred.resolved(1).always { _ in throw Refused() }
        #expect(try failureResult(of: failed) is Refused)
    }

    @Test("Finalizers: before what follows, on a pending Deferred")
    func beforeWhatFollows() {
        let connection = Connection(opening: Deferred(), answer: Deferred(), eventLog: eventLog)
        let opened = connection.open()
        opened.finally { _ in connection.close() }
        opened
            .then { connection.ask("How are you?") }
            .done { answer in print(answer) }
        connection.opening.resolve()
        connection.answer.resolve("well")
        #expect(eventLog.all == ["well", "closed"])
    }

    @Test("Finalizers: before what follows, on a settled Deferred, it runs too early")
    func tooEarly() {
        let connection = Connection(opening: .resolved(), answer: Deferred(), eventLog: eventLog)
        let opened = connection.open()
        opened.finally { _ in connection.close() }
        opened
            .then { connection.ask("How are you?") }
            .done { answer in print(answer) }
        connection.answer.resolve("well")
        #expect(eventLog.all == ["closed", "well"])
    }

    private struct Lender {
        let connect: @Sendable () -> Deferred<Connection>

        func withConnection<Answer>(
            _ body: @escaping @Sendable (Connection) -> Deferred<Answer>
        ) -> Deferred<Answer> {
            connect().then { connection in
                body(connection).finally { _ in connection.close() }
            }
        }
    }

    @Test("Finalizers: a function that lends a resource closes it after its use")
    func lending() throws {
        let connection = Connection(opening: .resolved(), answer: Deferred(), eventLog: eventLog)
        let answer = Lender { .resolved(connection) }.withConnection { $0.ask("How are you?") }
        #expect(eventLog.all == [])
        connection.answer.resolve("well")
        #expect(eventLog.all == ["closed"])
        #expect(try answer.currentResult?.get() == "well")
        let quick = Lender { .resolved(connection) }.withConnection { _ in .resolved(1) }
        #expect(eventLog.all == ["closed", "closed"])
        #expect(try quick.currentResult?.get() == 1)
        let failed = Lender { .rejected(Refused()) }.withConnection { _ in .resolved(1) }
        #expect(throws: Refused.self) { try failed.currentResult?.get() }
        #expect(eventLog.all.count == 2)
    }

    @Test("Finalizers: the order of several")
    func several() {
        let opened = Deferred<Void>()
        opened.finally { _ in print("close the connection") }
        opened.finally { _ in print("say goodbye") }
        opened.done { print("talk") }.finally { _ in print("hang up the receiver") }
        opened.resolve()
        // talk, hang up the receiver, say goodbye, close the connection
        #expect(eventLog.all == ["talk", "hang up the receiver", "say goodbye", "close the connection"])
    }
}
