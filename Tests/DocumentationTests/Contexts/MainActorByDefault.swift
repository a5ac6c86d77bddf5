import Deferred
import DeferredOperations
import Foundation

private let (queue, model) = (OperationQueue(), MainActorByDefaultExamples.ArticlesModel())
private nonisolated let file = URL(filePath: "/")
private nonisolated func headline(_ article: MainActorByDefaultExamples.Article) -> String { article.title }
private func load() -> Deferred<MainActorByDefaultExamples.Article> {
    JSONDataSource(file).request(on: queue)
}
private func find(_ text: String) -> Deferred<[String]> { .resolved([text]) }
private func decide(_ redirect: TransferRedirect) -> TransferRedirect.Decision { .follow }
