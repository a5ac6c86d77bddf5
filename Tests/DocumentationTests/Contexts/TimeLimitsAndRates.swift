import Deferred
import Multicast

private final class World: Sendable {
    func advance(by seconds: Int) {}
}

private struct Connection: Sendable {
    var onData: @Sendable () -> Void {
        get { {} }
        nonmutating set {}
    }
    func ping() {}
    func close() {}
}

private struct Index: Sendable {
    func add(_ name: String) {}
}

private struct Done: Error {}

private let (world, connection, index) = (World(), Connection(), Index())
private let (names, page) = (["ann", "bob"], Deferred<String>())
private let keepAlive = RepeatingWork(every: .seconds(30)) {}
private func logIn() -> Deferred<String> { .never() }
private func showSpinner() {}
private func find(_ text: String) -> Deferred<[String]> { .never() }
private func save(_ text: String) -> Deferred<Void> { .never() }
private func show(_ results: [String]) {}
