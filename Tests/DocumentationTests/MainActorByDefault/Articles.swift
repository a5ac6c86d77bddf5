import Deferred
import DeferredOperations
import Foundation

/// Decoded on the thread of a transfer.
nonisolated struct Article: Decodable, Sendable {
    let title: String
}

final class ArticlesModel {
    private(set) var titles: [String] = []
    private(set) var message: String?
    private var loading: Deferred<Void>?

    func appear(with articles: Deferred<[Article]>) {
        loading =
            articles
            .map { articles in articles.map(headline) }
            .done(on: MainActor.self) { [weak self] titles in self?.titles = titles }
            .fail(on: MainActor.self) { [weak self] error in self?.message = "\(error)" }
    }

    func disappear() { loading?.cancel() }
}

/// Runs in a callback without `on:`, on whichever thread completes the Deferred.
nonisolated func headline(_ article: Article) -> String { article.title.uppercased() }

/// Its methods run on the threads of an operation queue.
nonisolated final class ArticleFile: DataSource<[Article]>, @unchecked Sendable {
    private let file: URL

    init(_ file: URL) {
        self.file = file
        super.init()
    }

    override func load() throws -> [Article] {
        try JSONDecoder().decode([Article].self, from: Data(contentsOf: file))
    }
}
