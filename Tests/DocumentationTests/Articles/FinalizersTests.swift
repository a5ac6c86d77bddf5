import Deferred
import Testing

@Suite struct FinalizersTests {
    let journal = Journal()

    private struct Connection: Sendable {
        let opening: Deferred<Void>
        let answer: Deferred<String>
        let journal: Journal

        func open() -> Deferred<Void> { opening }
        func ask(_ question: String) -> Deferred<String> { answer }
        func close() { journal.write("closed") }
    }

    @Test(
        "Finalizers: at the end it is safe, whether the opening takes time or not", arguments: [true, false])
    func atTheEnd(opensAtOnce: Bool) {
        let print: @Sendable (String) -> Void = journal.write
        let connection = Connection(opening: Deferred(), answer: Deferred(), journal: journal)
        if opensAtOnce { connection.opening.resolve() }
        connection.open()
            .then { connection.ask("How are you?") }
            .then { answer in print(answer) }
            .finally { _ in connection.close() }
        if !opensAtOnce { connection.opening.resolve() }
        #expect(journal.all == [])
        connection.answer.resolve("well")
        #expect(journal.all == ["well", "closed"])
    }

    @Test("Finalizers: before what follows, on what has not fired")
    func beforeWhatFollows() {
        let print: @Sendable (String) -> Void = journal.write
        let connection = Connection(opening: Deferred(), answer: Deferred(), journal: journal)
        let opened = connection.open()
        opened.finally { _ in connection.close() }
        opened
            .then { connection.ask("How are you?") }
            .then { answer in print(answer) }
        connection.opening.resolve()
        connection.answer.resolve("well")
        #expect(journal.all == ["well", "closed"])
    }

    @Test("Finalizers: before what follows, on what has fired, it is too early")
    func tooEarly() {
        let print: @Sendable (String) -> Void = journal.write
        let connection = Connection(opening: .resolved(), answer: Deferred(), journal: journal)
        let opened = connection.open()
        opened.finally { _ in connection.close() }
        opened
            .then { connection.ask("How are you?") }
            .then { answer in print(answer) }
        connection.answer.resolve("well")
        #expect(journal.all == ["closed", "well"])
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

    @Test("Finalizers: a resource that is lent out is closed when its user is done")
    func lending() throws {
        let connection = Connection(opening: .resolved(), answer: Deferred(), journal: journal)
        let answer = Lender { .resolved(connection) }.withConnection { $0.ask("How are you?") }
        #expect(journal.all == [])
        connection.answer.resolve("well")
        #expect(journal.all == ["closed"])
        #expect(try answer.currentResult?.get() == "well")
        let quick = Lender { .resolved(connection) }.withConnection { _ in .resolved(1) }
        #expect(journal.all == ["closed", "closed"])
        #expect(try quick.currentResult?.get() == 1)
        let failed = Lender { .rejected(Refused()) }.withConnection { _ in .resolved(1) }
        #expect(throws: Refused.self) { try failed.currentResult?.get() }
        #expect(journal.all.count == 2)
    }

    @Test("Finalizers: the order of several")
    func several() {
        let print: @Sendable (String) -> Void = journal.write
        let opened = Deferred<Void>()
        opened.finally { _ in print("close the connection") }
        opened.finally { _ in print("say goodbye") }
        opened.then { print("talk") }.finally { _ in print("hang up the receiver") }
        opened.resolve()
        // talk, hang up the receiver, say goodbye, close the connection
        #expect(journal.all == ["talk", "hang up the receiver", "say goodbye", "close the connection"])
    }
}
