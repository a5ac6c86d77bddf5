import Foundation
import Synchronization

/// How far the output file has come.
struct Checkpoint: Codable, Sendable {
    /// How many bytes of the source are in the file, or were skipped.
    var offset = 0
    /// The length of the file then, and its lines.
    var length: UInt64 = 0
    var count = 0
    /// The version of the source.
    var etag: String?
}

/// The output file, and beside it the checkpoint, which is replaced in one step after each batch. What a killed run
/// has written behind its last checkpoint is cut off.
final class Store: Sendable {
    private let output: Mutex<FileHandle>
    private let file: URL
    private let state: Mutex<Checkpoint>

    init(_ path: String) throws {
        let target = URL(filePath: path)
        file = target.appendingPathExtension("checkpoint")
        var saved = try? JSONDecoder().decode(Checkpoint.self, from: Data(contentsOf: file))
        if !FileManager.default.fileExists(atPath: target.path) {
            try Data().write(to: target)
            saved = nil
        }
        let handle = try FileHandle(forWritingTo: target)
        try handle.truncate(atOffset: saved?.length ?? 0)
        output = Mutex(handle)
        state = Mutex(saved ?? Checkpoint())
    }

    var checkpoint: Checkpoint { state.withLock { $0 } }

    /// Empties the file: the source is another than before.
    func startOver(with etag: String?) throws {
        try output.withLock { try $0.truncate(atOffset: 0) }
        try save(Checkpoint(etag: etag))
    }

    func append(_ batch: Batch) throws {
        try output.withLock { try $0.write(contentsOf: Data(batch.text.utf8)) }
        var next = checkpoint
        next.offset = batch.end
        next.length += UInt64(batch.text.utf8.count)
        next.count += batch.count
        try save(next)
    }

    private func save(_ next: Checkpoint) throws {
        try JSONEncoder().encode(next).write(to: file, options: .atomic)
        state.withLock { $0 = next }
    }
}
