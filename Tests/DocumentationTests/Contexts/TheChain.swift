import Deferred
import Multicast

private struct Pieces: Sendable {
    func next() -> Deferred<Int?> { .resolved(nil) }
}

private let (page, text) = (Deferred<String>(), "text")
private let (source, total) = (Pieces(), SynchronizedValue(0))
private func parse(_ text: String) throws -> Int { 1 }
private func cached(_ error: any Error) throws -> Int { 1 }
private func show(_ number: Int) throws {}
private func report(_ error: any Error) {}
private func log(_ result: Result<Void, any Error>) {}
