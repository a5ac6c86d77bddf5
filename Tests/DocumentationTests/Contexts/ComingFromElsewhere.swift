import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import Multicast

// What the rows of the tables use.

private struct Wrapped: Error {
    init(_ error: any Error) {}
}

private struct Confined: Sendable {
    init(_ value: Int, to queue: DispatchQueue) {}
}

@MainActor private final class Label {
    var count = 0
    nonisolated init() {}
}

private let d = Deferred<Int>(), a = Deferred<Int>(), b = Deferred<Int>(), page = Deferred<Int>()
private let name = Deferred<String>(), text = Deferred<String>(), numbers = Deferred<[Int]>()
private let latest = DeferredLatest(), owner = CancelBag()
private let shown = Deferred<Void>(), bag = CancelBag(), label = Label(), loop = ManualDispatcher()
private let other = Deferred<Int>.withResolver().resolver, resolver = other
private let lock = DeferredLock(), semaphore = DeferredSemaphore(4)
private let q = DeferredQueue<Int>(), channel = DeferredQueue<Int>(size: 0)
private let queue = OperationQueue(), serialQueue = DispatchQueue(label: "serial")
private let calls = RepeatingWork(every: .seconds(30)) {}, source = DataSource { _ in 9 }
private let value = 1, error: any Error = NotFound(), result = Result<Int, any Error>.success(3)

@Sendable private func f(_ value: Int) -> Int { value + 1 }
private func g(_ error: any Error) -> Int { -1 }
private func h(_ result: Result<Int, any Error>) -> Int { 1 }
@Sendable private func fetch(_ number: Int) -> Deferred<Int> { .resolved(number) }
private func load() throws -> Int { 7 }
private func start() throws -> Deferred<Int> { .resolved(9) }
private func work() async throws -> Int { 8 }
private func stop() {}
private func task() {}
private func show(_ value: Int) {}
private func report(_ error: any Error) {}
private func note(_ result: Result<Int, any Error>) {}
private func check(_ value: Int) -> Result<String, NotFound> { .success("one") }
