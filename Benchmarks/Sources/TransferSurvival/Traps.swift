import Deferred
import DeferredOperations
import FileServing
import Foundation

/// The answers that stop the process on Foundation's transport, before the library hears of them: see the article FoundationOnLinux.
enum Traps {
    private static let answers: [(name: String, method: String, text: String)] = [
        ("closed-within-headers", "GET", "HTTP/1.1 200 OK\r\nX-Mine: 1\r\n"),
        (
            "trailers", "GET",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Checksum: 1\r\n\r\n"
        ),
        ("carriage-return", "GET", "HTTP/1.1 204 No\r\n\r\r\n"),
        (
            "huge-length", "GET",
            "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc"
        ),
    ]

    /// Tries each in a process of its own.
    static func tryAll() throws {
        var survived: [String] = []
        for answer in answers {
            let (_, ending) = try Child(["trap", answer.name]).finish()
            print("\(answer.name): \(ending)")
            if ending == "survived" { survived.append(answer.name) }
        }
        if TestedTransport.hasFaults {
            guard survived.isEmpty else {
                throw Failure(
                    description:
                        "no longer stop the process: \(survived.joined(separator: ", ")). Say so in FoundationOnLinux.md"
                )
            }
        } else if survived.count < answers.count {
            throw Failure(description: "a transport without this fault was stopped")
        }
    }

    static func run(_ name: String) async throws {
        guard let answer = answers.first(where: { $0.name == name }) else { throw Failure(description: name) }
        let server = try LoopbackServer()
        server.route(
            "/it",
            Answer { exchange in
                try exchange.send(answer.text)
                try exchange.hangUp()
            })
        var request = URLRequest(url: URL(string: server.url("/it"))!)
        request.httpMethod = answer.method
        let source = URLDataSource(
            request, options: .init(totalTimeout: .seconds(10)), session: TestedTransport.session)
        _ = await source.request(on: OperationQueue()).result
    }
}
