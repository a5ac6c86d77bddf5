import Deferred
import Foundation

/// A log that callbacks on any thread may write to.
final class Journal: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    @Sendable func write(_ line: String) { lock.withLock { lines.append(line) } }
    var all: [String] { lock.withLock { lines } }
}

struct Refused: Error, CustomStringConvertible {
    var description: String { "refused" }
}

struct NotFound: Error {}

extension String {
    func shouted() async throws -> String { uppercased() }
}
