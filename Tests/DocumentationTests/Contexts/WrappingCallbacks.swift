import Deferred
import Dispatch

private struct Store: Sendable {
    func read(_ key: String, completion: @escaping @Sendable (String?, (any Error)?) -> Void) {}
}

private final class Upload: Sendable {
    func start(_ completion: @escaping @Sendable (Result<Int, any Error>) -> Void) {}
    func cancel() {}
}

private struct Server: Sendable {
    struct Call: Sendable { func cancel() {} }
    func get(_ path: String, completion: @escaping @Sendable (String?, (any Error)?) -> Void) -> Call {
        Call()
    }
}

private protocol ScannerDelegate: AnyObject, Sendable {
    func scanner(_ scanner: Scanner, didFind code: String)
    func scanner(_ scanner: Scanner, didFailWith error: any Error)
}

private final class Scanner: Sendable {
    var delegate: (any ScannerDelegate)? {
        get { nil }
        set {}
    }
    func start() {}
    func stop() {}
}

// As in Combine.

protocol Publisher<Output, Failure> {
    associatedtype Output
    associatedtype Failure: Error
    func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable
}

enum Subscribers {
    enum Completion<Failure: Error> { case finished, failure(Failure) }
}

final class AnyCancellable {}

private let queue = DispatchQueue.global()
private let (store, upload, server) = (Store(), Upload(), Server())
