import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(5)))
struct JSONDataSourceTests {
    struct Item: Decodable, Equatable, Sendable {
        let name: String
        let count: Int
    }

    let fixture = TransferFixture()

    private func load(_ body: String) -> Deferred<[Item]> {
        fixture.server.route("/it", .json(body))
        return JSONDataSource<[Item]>(fixture.url("/it"), options: .patient).request(on: fixture.queue)
    }

    @Test("A document is decoded, and asked for as JSON")
    func decoded() async throws {
        #expect(try await load("[{\"name\": \"a\", \"count\": 3}]").value == [Item(name: "a", count: 3)])
        #expect(fixture.server.requests[0][header: "Accept"] == "application/json")
    }

    @Test(
        "O4: what isn't JSON, or not what is wanted, is named with its place",
        arguments: [
            ("[{\"name\": \"a\", \"count\": \"x\"}]", "[0].count: "),
            ("[{\"name\": \"a\"}]", "there is no \"count\""),
            ("[{\"name\": null, \"count\": 1}]", "[0].name: "), ("{}", "unexpected JSON"),
            ("<html>", "unexpected JSON"),
            ("", "unexpected JSON"), ("[{\"name\": \"a\", \"cou", "unexpected JSON"),
        ])
    func malformed(_ body: String, _ words: String) async {
        await expectFailure("malformedJSON", words) { try await load(body).value }
    }
}
