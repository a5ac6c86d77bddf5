import Deferred
import DeferredTesting

struct EventLoop: Sendable {
    struct Task: Sendable {
        func cancel() {}
    }
    var now: Duration { .zero }
    func execute(_ work: @escaping @Sendable () -> Void) {}
    func schedule(in delay: Duration, _ work: @escaping @Sendable () -> Void) -> Task { Task() }
}

private let (page, file, queue) = (Deferred<String>(), "/file", ManualDispatcher())
private func countWords(in file: String) throws -> Int { 3 }
private func show(_ count: Int) {}
