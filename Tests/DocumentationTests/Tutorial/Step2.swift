import Deferred
import DeferredOperations
import Foundation

/// `fetcher-2.swift` of the tutorial.
enum Step2 {
    struct Main {
        static func main() throws {
            let addresses = CommandLine.arguments.dropFirst().compactMap { URL(string: $0) }
            let fetcher = Fetcher()
            for address in addresses {
                let page = try fetcher.page(at: address).wait(timeout: .seconds(300))
                print("\(address.path): \(page.count) bytes")
            }
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
            URLDataSource(address, options: options).request(on: queue)
                .map { $0.data }
        }
    }
}
