import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import TestSupport

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Data sources and transfers. They are created by the call, and requested with other values.
enum OperationsSights {
    private static func requesting<Value: Sendable>(_ source: RequestOperation<Value>) async throws {
        _ = try await asRequest { source.request(on: OperationQueue()) }.value
    }

    /// Requests a transfer that is answered by `answers`, with options that `set` changes.
    private static func transferring(
        _ answers: [StubTransport.Answer], _ request: URLRequest = URLRequest(url: url),
        _ set: (inout TransferOptions) -> Void
    ) async throws {
        let session = TransferSession(transport: StubTransport(script: answers))
        let source = asCall {
            var options = TransferOptions()
            set(&options)
            return URLDataSource(request, options: options, session: session)
        }
        try await requesting(source)
        await drainMainActor()
    }

    private static let url = URL(string: "http://example.com/page")!

    static let all: [String: Sighting] = [
        "OperationQueue.dispatch": { probe in
            let (done, resolver) = Deferred<Void>.withResolver()
            asCall {
                OperationQueue().dispatch {
                    probe.note()
                    resolver.resolve()
                }
            }
            try await done.value
        },
        "OperationQueue.deferred": { probe in
            try await asCall { OperationQueue().deferred { probe.note() } }.value
        },
        "OperationQueue.deferredFollowing": { probe in
            try await asCall { OperationQueue().deferredFollowing { Deferred.resolved(probe.note()) } }.value
        },
        "DataSource.init": { probe in
            try await requesting(asCall { DataSource { _ in probe.noting(1) } })
        },
        "ConcurrentDataSource.init": { probe in
            try await requesting(asCall { ConcurrentDataSource(awaiting: { .resolved(probe.noting(1)) }) })
            try await requesting(asCall { ConcurrentDataSource<Int> { $0.resolve(probe.noting(1)) } })
        },
        "DataSource.load": { probe in
            final class Source: DataSource<Int>, @unchecked Sendable {
                let probe: TaskLocalProbe
                init(_ probe: TaskLocalProbe) {
                    self.probe = probe
                    super.init()
                }
                override func load() throws -> Int { probe.noting(1) }
            }
            try await requesting(asCall { Source(probe) })
        },
        "ConcurrentDataSource.execute": { probe in
            final class Source: ConcurrentDataSource<Int>, @unchecked Sendable {
                let probe: TaskLocalProbe
                init(_ probe: TaskLocalProbe) {
                    self.probe = probe
                    super.init()
                }
                override func execute() throws { finish(with: .success(probe.noting(1))) }
            }
            try await requesting(asCall { Source(probe) })
        },
        "RetryDelay.retryAfter": { probe in
            let delay = asCall { RetryDelay.retryAfter(random: { probe.noting(0) }) }
            _ = asRunner { delay.delay(afterAttempt: 1, Refused()) }
        },
        "StubTransport.init": { probe in
            let transport = asCall { StubTransport { _ in probe.noting(.answer(text: "page")) } }
            try await requesting(URLDataSource(url, session: TransferSession(transport: transport)))
        },
        "TransportExchange.makeBodyStream": { probe in
            struct Resending: Transport {
                let probe: TaskLocalProbe
                var canPause: Bool { true }
                func send(
                    _ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange
                ) -> any TransportTask {
                    asCall {
                        exchange.makeBodyStream { _ in
                            probe.note()
                            exchange.receive(
                                .head(
                                    HTTPURLResponse(
                                        url: url, statusCode: 204, httpVersion: nil, headerFields: nil)!))
                            exchange.receive(.end(nil))
                        }
                    }
                    return NoTask()
                }
            }
            struct NoTask: TransportTask {
                func pause() {}
                func resume() {}
                func cancel() {}
            }
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            var options = TransferOptions()
            options.makeBodyStream = { InputStream(data: Data("body".utf8)) }
            options.bodyByteCount = 4
            let session = TransferSession(transport: Resending(probe: probe))
            try await requesting(URLDataSource(request, options: options, session: session))
        },
        "TransferOptions.init": { probe in
            try await transferring([.answer(text: "page")]) {
                $0 = TransferOptions(validateResponse: { _ in probe.note() })
            }
        },
        "TransferOptions.validateResponse": { probe in
            try await transferring([.answer(text: "page")]) { $0.validateResponse = { _ in probe.note() } }
        },
        "TransferOptions.onProgress": { probe in
            try await transferring([.answer(text: "page")]) { $0.onProgress = { _ in probe.note() } }
        },
        "TransferOptions.reportProgress": { probe in
            try await transferring([.answer(text: "page")]) {
                $0.reportProgress(on: MainActor.self) { _ in probe.note() }
            }
        },
        "TransferOptions.onRedirect": { probe in
            try await transferring([.redirect(to: "/other"), .answer(text: "page")]) {
                $0.onRedirect = { _ in .resolved(probe.noting(.follow)) }
            }
        },
        "TransferOptions.onChallenge": { probe in
            try await transferring([.answer(401), .answer(text: "page")]) {
                $0.onChallenge = { challenge in .resolved(probe.noting(URLRequest(url: url))) }
            }
        },
        "TransferOptions.makeBodyStream": { probe in
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            try await transferring([.answer(text: "page")], request) {
                $0.makeBodyStream = { probe.noting(InputStream(data: Data("body".utf8))) }
                $0.bodyByteCount = 4
            }
        },
        "StreamDataSource.init": { probe in
            let session = TransferSession(transport: StubTransport(script: [.answer(text: "page")]))
            try await requesting(
                asCall { StreamDataSource(url, session: session, onPiece: { _ in probe.note() }) })
        },
        "DownloadOptions.init": { probe in
            try await downloading(asCall { DownloadOptions(verify: { _ in probe.note() }) })
        },
        "DownloadOptions.verify": { probe in
            var options = DownloadOptions()
            asCall { options.verify = { _ in probe.note() } }
            try await downloading(options)
        },
    ]

    private static func downloading(_ options: DownloadOptions) async throws {
        let session = TransferSession(transport: StubTransport(script: [.answer(text: "page")]))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(
            "deferred-sights-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        try await requesting(DownloadDataSource(url, to: file, download: options, session: session))
    }
}
