import Deferred
import Dispatch

/// The model of a screen with a search field: what is typed is searched for after a pause, and only the results for
/// what is in the field now are shown.
@MainActor
final class SearchModel {
    /// What the field contains.
    var text = "" {
        didSet { if text != oldValue { textChanged() } }
    }
    private(set) var results: [String] = []
    private(set) var message: String?
    private(set) var isSearching = false

    private let find: @Sendable (String) -> Deferred<[String]>
    private let timer: any DelayedDispatcher
    private let latest: DeferredLatest
    /// What this screen waits for. It is cancelled with the model.
    private let bag = CancelBag()

    /// Creates a model.
    ///
    /// - Parameters:
    ///   - timer: Measures the time: the pause before a search, and the limit of each attempt. A test passes its own.
    ///   - find: Begins a search. It may be cancelled.
    init(
        timer: any DelayedDispatcher = DispatchQueue.global(),
        find: @escaping @Sendable (String) -> Deferred<[String]>
    ) {
        self.find = find
        self.timer = timer
        latest = DeferredLatest(debounce: .milliseconds(300), timer: timer)
    }

    private func textChanged() {
        // Also results that are on their way to the main actor.
        bag.cancelAll()
        message = nil
        isSearching = !text.isEmpty
        guard isSearching else {
            latest.cancel()
            results = []
            return
        }
        let (text, find, timer) = (text, find, timer)
        latest.run {
            Deferred.retry(attempts: 2, delay: .none, timer: timer) {
                find(text).timeout(.seconds(5), timer: timer)
            }
        }
        .done(on: MainActor.self) { [weak self] results in
            self?.show(results)
        } fail: { [weak self] error in
            self?.show(error)
        }
        .store(in: bag)
    }

    private func show(_ found: [String]) {
        results = found
        isSearching = false
    }

    private func show(_ error: any Error) {
        if error is CancellationError { return }  // A later search is in progress, or none is wanted.
        message = error as? DeferredError == .timedOut ? "The server does not answer." : "\(error)"
        results = []
        isSearching = false
    }
}
