import Deferred
import Dispatch

/// A screen with a search field and a list that grows as it is scrolled.
final class SearchModel {
    /// What the field contains.
    var text = "" {
        didSet { if text != oldValue { textChanged() } }
    }
    private(set) var films: [Film] = []
    private(set) var message: String?
    private(set) var isLoading = false

    private let server: Server
    private let timer: any DelayedDispatcher
    private let latest: DeferredLatest
    private let bag = CancelBag()
    private var next: Int?

    init(server: Server, timer: any DelayedDispatcher = DispatchQueue.global()) {
        (self.server, self.timer) = (server, timer)
        latest = DeferredLatest(debounce: .milliseconds(300), timer: timer)
    }

    private func textChanged() {
        // Results of the text before, also those on their way to the main actor, are not wanted any more.
        bag.cancelAll()
        latest.cancel()
        (films, next, message) = ([], nil, nil)
        isLoading = !text.isEmpty
        guard isLoading else { return }
        load(latest.run(on: MainActor.self) { [weak self] in self?.page(0) ?? .never() })
    }

    /// The last row can be seen: requests the next page, unless a request is in progress or has failed.
    func didReachEnd() {
        guard let next, !isLoading, message == nil else { return }
        isLoading = true
        load(page(next))
    }

    /// The button beside the message.
    func retry() {
        guard message != nil else { return }
        (message, isLoading) = (nil, true)
        load(page(next ?? 0))
    }

    /// Each attempt has five seconds. A second and a third follow after one and two seconds, shortened at random.
    private func page(_ number: Int) -> Deferred<Page> {
        let (text, find, timer) = (text, server.find, timer)
        return Deferred.retry(attempts: 3, timer: timer) {
            find(text, number).timeout(.seconds(5), timer: timer)
        }
    }

    private func load(_ page: Deferred<Page>) {
        page.done(on: MainActor.self) { [weak self] page in
            self?.films += page.films
            self?.end(next: page.next)
        } fail: { [weak self] error in
            // Only a later text, or the end of the screen, cancels: then there is nothing to say.
            if !(error is CancellationError) { self?.end(next: self?.next, message: "\(error)") }
        }
        .store(in: bag)
    }

    private func end(next: Int?, message: String? = nil) {
        (self.next, self.message, isLoading) = (next, message, false)
    }
}
