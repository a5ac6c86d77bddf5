import Deferred
import DeferredOperations
import Foundation

/// `fetcher-1.swift` of the tutorial.
enum Step1 {
    struct Fetcher: Sendable {
        private let queue = OperationQueue()

        func page(at address: URL) -> Deferred<Data> {
            URLDataSource(address).request(on: queue)
                .then { $0.data }
        }
    }
}
