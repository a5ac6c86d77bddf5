import AsyncHTTPClient
import AsyncHTTPClientTransport
import DeferredOperations

/// The transport that is tried; see the file of this name in `Benchmarks`.
enum TestedTransport {
    static let session = TransferSession(
        transport: AsyncHTTPClientTransport(
            HTTPClient(configuration: AsyncHTTPClientTransport.configuration),
            asSent: HTTPClient(configuration: AsyncHTTPClientTransport.configurationAsSent))
    )
    static let hasFaults = false
}
