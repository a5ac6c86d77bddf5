import Deferred
import DeferredOperations
import Foundation

/// `fetcher-2.swift` of the tutorial.
enum Step2 {
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
                .then { $0.data }
        }
    }
}
