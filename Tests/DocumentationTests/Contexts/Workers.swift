import Deferred
import Multicast

private struct Job: Sendable {
    let name = "job"
    let isLast = true
    func shouted() async throws -> String { name }
}

private struct Counter: Sendable {
    func read() -> Deferred<Int> { .resolved(1) }
    func write(_ count: Int) -> Deferred<Void> { .resolved() }
}

private let (counter, addresses, connections) = (Counter(), ["/a", "/b"], DeferredSemaphore(2))
private let (jobs, producing, worker) = (DeferredQueue<Job>(), Deferred<Void>(), Deferred<Void>())
private struct LoggedOut: Error {}
private func makeJob(_ number: Int) -> Job { Job() }
private func perform(_ job: Job) -> Deferred<Void> { .resolved() }
