import Deferred
import Foundation
import LoopbackServer

/// The server, queue and folder of an article's tests, and the functions that its code calls.
///
/// Sound as `@unchecked Sendable`: all properties are immutable and `Sendable`. Subclasses add no variables.
class TransferArticle: @unchecked Sendable {
    let queue = OperationQueue()
    let server: LoopbackServer
    let folder: URL
    /// The lines that callbacks printed, in order.
    let shown = DeferredQueue<String>()

    init() throws {
        server = try LoopbackServer()
        folder = FileManager.default.temporaryDirectory.appending(path: "article-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func url(_ path: String) -> URL { URL(string: server.url(path))! }
    @Sendable func print(_ line: String) { try? shown.put(line) }
    @Sendable func show(_ data: Data) { print(String(decoding: data, as: UTF8.self)) }
}
