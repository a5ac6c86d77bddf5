import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite struct LongChainsTests {
    private struct User: Sendable {
        let name: String
        let age: Int
    }

    private func logIn() -> Deferred<Int> { .resolved(7) }
    private func user(_ session: Int) -> Deferred<User> { .resolved(User(name: "ann", age: 40)) }
    private func fetchPage(at address: String) -> Deferred<String> { .resolved("page at \(address)") }

    @Test("Long chains: an everyday chain")
    func everyday() throws {
        let line = logIn()
            .then { session in user(session) }
            .map { user in user.name + " is " + "\(user.age)" }
            .map { line in line.uppercased() }
            .always { _ in print("done") }
            .recover { error in "nobody: \(error)" }
        #expect(try successResult(of: line) == "ANN IS 40")
    }

    private func print(_ text: String) {}

    @Test("Long chains: closures of several statements")
    func statements() throws {
        let text = "42"
        let length = fetchPage(at: "/index")
            .map { page in
                let start = page.prefix(4)
                return start.uppercased()
            }
            .map { $0.count }
        #expect(try successResult(of: length) == 4)

        let page = Deferred.resolved(text).then { text -> Deferred<String> in
            if text.isEmpty { return .resolved("empty") }
            return fetchPage(at: text)
        }
        #expect(try successResult(of: page) == "page at 42")

        let number = Deferred.resolved(text).map { text -> Int? in
            if text.isEmpty { return nil }
            return Int(text)
        }
        #expect(try successResult(of: number) == 42)
    }

    @Test("Long chains: map in place of then compiles, and a failure is reported")
    func mapInPlaceOfThen() {
        struct DiskFull: Error, CustomStringConvertible { let description = "disk full" }
        let (eventLog, saving) = (SharedLog<String>(), Deferred<Void>())
        let print: @Sendable (String) -> Void = eventLog.add
        let reported = diagnostics(reportedDuring: {
            @Sendable func save(_ page: String) -> Deferred<Void> {
                saving.map { throw DiskFull() }
            }
            fetchPage(at: "/index")
                .map { page in save(page) }  // should be then
                .done { _ in print("saved") }  // printed before the page is saved
            #expect(eventLog.all == ["saved"])
            saving.resolve()
        })
        #expect(reported.count == 1)
        let line = reported.first?.description ?? ""
        #expect(line.hasPrefix("unhandled failure of the Deferred made at "), "\(line)")
        #expect(line.contains("LongChainsTests.swift:") && line.hasSuffix(": disk full"), "\(line)")
    }

    @Test("Long chains: a chain in parts")
    func parts() throws {
        func report(on address: String) -> Deferred<String> {
            let page = fetchPage(at: address)
            let summary = page.map { $0.prefix(4) + "…" }
            return summary.map { "\(address): \($0)" }
        }
        #expect(try successResult(of: report(on: "/a")) == "/a: page…")
    }
}
