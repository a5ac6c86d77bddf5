import Deferred
import DeferredOperations
import Foundation

/// A button that downloads a film, shows how far it has got, and stops.
final class DownloadModel {
    enum State: Equatable {
        case idle
        case loading(Double?)
        case done
        case failed(String)
    }

    private(set) var state = State.idle
    private let session: TransferSession
    private let queue = OperationQueue()
    private var download: Deferred<Void>?

    init(session: TransferSession = .shared) { self.session = session }

    func start(_ address: URL, to file: URL) {
        guard download == nil else { return }
        state = .loading(nil)
        var options = TransferOptions()
        options.reportProgress(on: MainActor.self) { [weak self] progress in
            // One report may come after the end.
            if case .loading? = self?.state { self?.state = .loading(progress.fraction) }
        }
        download = DownloadDataSource(address, to: file, options: options, session: session).request(
            on: queue
        )
        .done(on: MainActor.self) { [weak self] _ in
            self?.end(.done)
        } fail: { [weak self] error in
            self?.end(error is CancellationError ? .idle : .failed("\(error)"))
        }
    }

    /// Stops the transfer, and removes what has arrived.
    func cancel() { download?.cancel() }

    private func end(_ state: State) { (self.state, download) = (state, nil) }
}
