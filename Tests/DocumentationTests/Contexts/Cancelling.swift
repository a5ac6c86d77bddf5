import Deferred

private struct Connection: Sendable {
    func close() {}
}

private struct Store: Sendable {
    func save(_ document: String) -> Deferred<Void> { .never() }
}

@MainActor private final class Picker {
    nonisolated init() {}
    func dismiss() {}
}

private let picker = Picker()
private let (connection, store, document) = (Connection(), Store(), "text")
private let (addresses, queue) = (["/a", "/b"], ManualDispatcher())
private let (page, request, length) = (Deferred<String>(), Deferred<String>(), Deferred<Int>())

extension CancellingExamples {
    func show(_ text: String) {}
}
