import Deferred
import DeferredOperations
import Foundation
import LoopbackServer

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Reads measurements (`station,celsius`, a line each) from a URL, and appends them in Fahrenheit to a file:
///
///     ingest URL FILE
///     ingest --demo FILE
///
/// Whatever ends it, Ctrl-C, `kill -9` or a broken connection: started again, it continues after the last batch that
/// is in the file, and no measurement is lost or in the file twice.
@main
enum Ingest {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let file = arguments.last else {
            FileHandle.standardError.write(Data("ingest URL FILE | --demo FILE\n".utf8))
            exit(2)
        }
        let server = arguments.first == "--demo" ? try DemoSource.start() : nil
        guard let url = URL(string: server?.url("/measurements") ?? arguments[1]) else { exit(2) }
        let store = try Store(file)
        print("continues at byte \(store.checkpoint.offset)")
        // Each attempt continues where the one before stopped.
        try await Deferred.asyncRetry(attempts: 5, when: { ($0 as? DataSourceError)?.isTransient ?? false }) {
            try await ingest(url, into: store)
        }.value
        print("\(store.checkpoint.count) measurements in \(file)")
        server?.stop()
    }

    /// Reads, converts at most four batches at once, and writes them in the order in which they were read. While eight
    /// batches wait to be written, nothing is read; the transfer pauses.
    private static func ingest(_ url: URL, into store: Store) async throws {
        let options = TransferOptions(acceptedStatuses: Set(200..<300).union([416]))
        let source = StreamDataSource(request(for: url, from: store.checkpoint), options: options)
        let transfer = source.request(on: OperationQueue())
        let head = try await source.head.value
        if head.statusCode == 416 { return }  // Nothing follows the checkpoint.
        if head.statusCode != 206 {
            try store.startOver(with: head.value(forHTTPHeaderField: "ETag"))
        }

        let converting = DeferredSemaphore(4)
        let batches = DeferredQueue<Deferred<Batch>>(size: 8)
        let writing = batches.run(stopsOnFailure: true) { batch in
            batch.done { try store.append($0) }
        }
        let reading = Deferred {
            var (rest, end) = (Data(), store.checkpoint.offset)
            @Sendable func send(_ bytes: Data, _ end: Int) async throws {
                let batch = Batch(bytes: bytes, end: end)
                let converted = converting.run { DispatchQueue.global().deferred { batch.converted() } }
                try await batches.send(converted).value
            }
            for try await piece in source.body {
                rest += piece
                guard rest.count > 2_000, let newline = rest.lastIndex(of: UInt8(ascii: "\n")) else {
                    continue
                }
                let lines = rest[...newline]
                end += lines.count
                try await send(lines, end)
                rest = Data(rest[(newline + 1)...])
            }
            try await send(rest, end + rest.count)
            batches.finish()
        }
        // If one of them fails, the other is cancelled.
        _ = try await gather(reading, writing, transfer, cancelsRemaining: true).value
    }

    /// Asks for what follows the checkpoint, provided that the source is still the same.
    private static func request(for url: URL, from checkpoint: Checkpoint) -> URLRequest {
        var request = URLRequest(url: url)
        if checkpoint.offset > 0, let etag = checkpoint.etag {
            request.setValue("bytes=\(checkpoint.offset)-", forHTTPHeaderField: "Range")
            request.setValue(etag, forHTTPHeaderField: "If-Range")
        }
        return request
    }
}
