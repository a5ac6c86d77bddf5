import TestSupport

struct Refused: Error, CustomStringConvertible {
    var description: String { "refused" }
}

struct NotFound: Error {}

extension String {
    func shouted() async throws -> String { uppercased() }
}

extension SharedLog {
    /// The articles write to a log.
    @Sendable func write(_ entry: Entry) { add(entry) }
}
