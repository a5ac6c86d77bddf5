import Testing

#if canImport(Combine)
import Combine
#else
import OpenCombine
import OpenCombineDispatch
import Dispatch
#endif

// The code of the article "Porting" that is to be ported, so that it is what a user of Combine would write.

private struct Failed: Error {}

private struct Store {
    func read(_ key: String, _ completion: @escaping (String?, (any Error)?) -> Void) {
        completion("name", nil)
    }
}

@Suite struct CombineSnippets {
    private let store = Store()

    private func fetchPage(at address: String) -> AnyPublisher<String, Failed> {
        Just("page \(address)").setFailureType(to: Failed.self).eraseToAnyPublisher()
    }

    @Test("Porting: Combine's code does what the article says")
    func snippets() {
        var cancellable: AnyCancellable?
        cancellable = fetchPage(at: "/a")
            .map { page in page.count }
            .replaceError(with: 0)
            .sink { count in print(count) }
        cancellable?.cancel()

        var found: [String] = []
        func note(_ publisher: some Publisher<String, Failed>) {
            _ = publisher.sink { _ in
            } receiveValue: {
                found.append($0)
            }
        }
        let last =
            fetchPage(at: "/a")
            .flatMap { page in fetchPage(at: page) }
            .catch { _ in Just("nothing").setFailureType(to: Failed.self) }
        note(last)
        let future = Future<String, Failed> { promise in
            store.read("name") { value, error in promise(value.map { .success($0) } ?? .failure(Failed())) }
        }
        note(future)
        let both =
            fetchPage(at: "/a").zip(fetchPage(at: "/b"))
            .map { a, b in a + b }
        note(both)
        let shared = fetchPage(at: "/a").retry(2).share()
        note(shared)
        #expect(found == ["page page /a", "name", "page /apage /b", "page /a"])
    }

    #if !canImport(Combine)
    private func show(_ page: String) {}

    @Test("Porting: Combine's search compiles")
    func typed() {
        let text = PassthroughSubject<String, Never>()
        let scheduler = DispatchQueue.global().ocombine
        let subscription =
            text
            .debounce(for: .milliseconds(300), scheduler: scheduler)
            .map { text in fetchPage(at: text).replaceError(with: "") }
            .switchToLatest()
            .sink { page in show(page) }
        subscription.cancel()
    }
    #endif
}
