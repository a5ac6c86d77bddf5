import Deferred
import DeferredTesting

struct EventLoop: Sendable {
    func execute(_ work: @escaping @Sendable () -> Void) {}
}

private let (page, file, queue) = (Deferred<String>(), "/file", ManualDispatcher())
private func countWords(in file: String) throws -> Int { 3 }
private func show(_ count: Int) {}
