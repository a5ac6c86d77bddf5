import Deferred
import DeferredOperations
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a crawl has found so far.
struct Report: Encodable, Sendable {
    struct Link: Encodable, Sendable {
        let url: String
        let foundOn: String?
        let error: String
    }

    var working = 0
    var broken: [Link] = []
    /// Addresses that were found and not checked, because the crawl was cancelled before.
    var notChecked = 0
}

/// Follows the links of a site: pages of its host are read, the first request of each other address is a HEAD.
final class Crawler: Sendable {
    private struct State {
        var found: Set<URL> = []
        var report = Report()
    }

    private let root: URL
    private let connections: DeferredSemaphore
    private let queue = OperationQueue()
    private let options: TransferOptions
    private let state = Mutex(State())

    init(_ root: URL, limit: Int, silence: Duration) {
        self.root = root
        connections = DeferredSemaphore(limit)
        options = TransferOptions(maximumByteCount: 1_000_000, silenceTimeout: silence)
    }

    /// What was found so far, also while the crawl runs, and after a cancel.
    var report: Report {
        state.withLock { state in
            var report = state.report
            report.broken.sort { $0.url < $1.url }
            report.notChecked = state.found.count - report.working - report.broken.count
            return report
        }
    }

    /// Crawls the site. A cancel reaches every request, and lets none begin.
    func crawl() -> Deferred<Void> { visit(root, foundOn: nil) }

    /// Checks an address, and then those that it links to.
    private func visit(_ url: URL, foundOn page: URL?) -> Deferred<Void> {
        guard state.withLock({ $0.found.insert(url).inserted }) else { return .resolved() }
        return connections.run { self.links(of: url) }
            .always { result in self.record(result, of: url, foundOn: page) }
            .recover(DataSourceError.self) { _ in [] }
            .then { links in DeferredList(links.map { self.visit($0, foundOn: url) }).values() }
            .map { _ in }
    }

    private func record(_ result: Result<[URL], any Error>, of url: URL, foundOn page: URL?) {
        state.withLock { state in
            switch result {
            case .success:
                state.report.working += 1
            case .failure(let error):
                if error is CancellationError { return }
                let link = Report.Link(
                    url: url.absoluteString, foundOn: page?.absoluteString, error: "\(error)")
                state.report.broken.append(link)
            }
        }
    }

    /// Loads an address, at most three times, and returns the links in it.
    private func links(of url: URL) -> Deferred<[URL]> {
        var request = URLRequest(url: url)
        if url.host != root.host { request.httpMethod = "HEAD" }
        let (asked, options, queue) = (request, options, queue)
        return Deferred.retry(delay: .retryAfter(), when: DataSourceError.isWorthRepeating(asked)) {
            URLDataSource(asked, options: options).request(on: queue)
        }.map { page in
            let type = page.response.value(forHTTPHeaderField: "Content-Type") ?? ""
            guard type.hasPrefix("text/html") else { return [] }
            return String(decoding: page.data, as: UTF8.self).matches(of: #/href="([^"#]+)/#)
                .compactMap {
                    URL(string: String($0.output.1), relativeTo: page.response.url ?? url)?.absoluteURL
                }
                .filter { $0.scheme == "http" || $0.scheme == "https" }
        }
    }
}
