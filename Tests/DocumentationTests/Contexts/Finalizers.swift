import Deferred

private struct Connection: Sendable {
    func open() -> Deferred<Void> { .resolved() }
    func ask(_ question: String) -> Deferred<String> { .resolved("well") }
    func close() {}
}

private struct Spinner: Sendable {
    func stop() {}
}

private let (connection, spinner) = (Connection(), Spinner())
private func connect() -> Deferred<Connection> { .resolved(connection) }
