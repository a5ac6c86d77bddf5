import Deferred

private struct File: Sendable {
    func close() {}
}

private struct Connection: Sendable {}

private struct Pool: Sendable {
    func connect(_ completion: @escaping @Sendable (Connection) -> Void) {}
    func takeBack(_ connection: Connection) {}
}

private let path = ""
private let pool = Pool()
private let queue = DeferredQueue<String>()

private func open(_ path: String) async throws -> File { File() }
private func read(_ file: File) -> String { "" }
private func handle(_ element: String) {}
