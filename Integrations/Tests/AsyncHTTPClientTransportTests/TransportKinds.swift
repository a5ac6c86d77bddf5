import AsyncHTTPClient
import AsyncHTTPClientTransport
import DeferredOperations
import NIOPosix

/// The transport on AsyncHTTPClient, for the tests that all transports have to pass.
enum TransportKind: CaseIterable {
    case asyncHTTPClient

    var deliversAsSent: Bool { true }
    var unpacks: Bool { true }

    /// One for all tests; it lives as long as the process.
    private static let session = TransferSession(
        transport: AsyncHTTPClientTransport(
            client(AsyncHTTPClientTransport.configuration),
            asSent: client(AsyncHTTPClientTransport.configurationAsSent)))

    private static func client(_ configuration: HTTPClient.Configuration) -> HTTPClient {
        HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
    }

    func place() -> Place { .server(Self.session) }
}
