import Deferred
import DeferredOperations
import Foundation

@main
struct Main {
    static func main() throws {
        let addresses = CommandLine.arguments.dropFirst().compactMap { URL(string: $0) }
        let results = try Fetcher().pages(at: addresses).wait(timeout: .seconds(300))
        for (address, result) in zip(addresses, results) { print("\(address.path): \(result)") }
    }
}

struct Fetcher: Sendable {
    private let queue = OperationQueue()
    private let options = {
        var options = TransferOptions()
        options.silenceTimeout = .seconds(10)
        options.maximumByteCount = 10_000_000
        return options
    }()

    func page(at address: URL) -> Deferred<Data> {
        Deferred.retry(attempts: 3, delay: .retryAfter(), when: Self.isTransient) {
            URLDataSource(address, options: options).request(on: queue)
                .map { $0.data }
        }
    }

    private static func isTransient(_ error: any Error) -> Bool {
        (error as? DataSourceError)?.isTransient ?? false
    }

    func pages(at addresses: [URL]) -> Deferred<[Result<Data, any Error>]> {
        DeferredList(addresses, limit: 4) { page(at: $0) }.results()
    }
}
