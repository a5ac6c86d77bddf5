import Deferred
import DeferredOperations
import Foundation

struct Fetcher: Sendable {
    private let queue = OperationQueue()

    func page(at address: URL) -> Deferred<Data> {
        URLDataSource(address).request(on: queue)
            .then { $0.data }
    }
}
