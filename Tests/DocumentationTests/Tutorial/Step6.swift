import Deferred
import DeferredOperations
import Foundation

/// `fetcher-6.swift` of the tutorial.
enum Step6 {
    struct Main {
        static func main() throws {
            let arguments = CommandLine.arguments.dropFirst()
            let addresses = arguments.filter { $0 != "--first" }.compactMap { URL(string: $0) }
            let fetcher = Fetcher()
            if arguments.first == "--first" {
                let page = try fetcher.quickest(of: addresses).wait(timeout: .seconds(300))
                print("\(page.count) bytes")
            } else {
                let lines = try fetcher.report(on: addresses).wait(timeout: .seconds(300))
                for line in lines { print(line) }
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

        func report(on addresses: [URL]) -> Deferred<[String]> {
            pages(at: addresses).map { results in
                zip(addresses, results).map { address, result in
                    switch result {
                    case .success(let page): "\(address.path): \(page.count) bytes"
                    case .failure(let error): "\(address.path): \(error)"
                    }
                }
            }
        }

        func quickest(of mirrors: [URL]) -> Deferred<Data> {
            DeferredList(mirrors.map(page), cancelsRemaining: true).first()
                .map { $0.value }
        }
    }
}
