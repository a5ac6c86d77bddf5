import AsyncHTTPClient
import AsyncHTTPClientTransport
import DeferredOperations
import NIOPosix

/// The transport on AsyncHTTPClient, for the tests that all transports have to pass.
enum TransportKind: CaseIterable {
    case asyncHTTPClient

    /// One for all tests; it lives as long as the process.
    private static let session = TransferSession(
        transport: AsyncHTTPClientTransport(
            HTTPClient(
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                configuration: AsyncHTTPClientTransport.configuration)))

    func place() -> Place { .server(Self.session) }
}
