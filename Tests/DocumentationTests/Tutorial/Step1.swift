import Deferred
import DeferredOperations
import Foundation

/// `fetcher-1.swift` of the tutorial.
enum Step1 {
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

        func page(at address: URL) -> Deferred<Data> {
            URLDataSource(address).request(on: queue)
                .map { $0.data }
        }
    }
}
