import TestSupport

struct Refused: Error, CustomStringConvertible {
    var description: String { "refused" }
}

extension String {
    func shouted() async throws -> String { uppercased() }
}

/// A suite with the code of an article, which prints to a log.
protocol Article: Sendable {
    var eventLog: SharedLog<String> { get }
}

extension Article {
    func print(_ line: String) { eventLog.add(line) }
}
