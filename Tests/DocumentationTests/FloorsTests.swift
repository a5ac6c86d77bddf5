import Foundation
import TestSupport
import Testing

/// Reads off the sources that each floor uses only those below it: those of the engine are folders, those of transfers
/// stand in Documentation/Transfers.md.
@Suite(.watchdog) struct FloorsTests {
    /// A file as text: what it declares, and what it mentions.
    private struct Source {
        let path: String
        var declared: Set<String> = []
        var mentioned: Set<String> = []

        init(_ file: URL) throws {
            path = Package.path(of: file)
            let text = try String(contentsOf: file, encoding: .utf8)
                .replacing(#/(?m)//.*$/#, with: "").replacing(#/"(?:\\.|[^"\\\n])*"/#, with: "")
            for match in text.matches(of: #/\bfunc (\w+)|\b(?:class|struct|enum|protocol) ([A-Z]\w+)/#) {
                declared.insert(String(match.output.1 ?? match.output.2 ?? ""))
            }
            // A type wherever it stands, a function where it is called; nested types by the outer one. Names of one word,
            // such as `open`, are those of other things as well.
            for match in text.matches(of: #/(func |\.)?\b(\w+)(?: ?([({]))?/#) {
                let name = String(match.output.2)
                let isType = name.first?.isUppercase == true
                let isWanted =
                    isType
                    ? match.output.1 == nil
                    : match.output.1 != "func " && match.output.3 != nil
                        && name.contains(where: \.isUppercase)
                if isWanted { mentioned.insert(name) }
            }
        }
    }

    /// Returns each use of a name that only a floor above declares.
    ///
    /// - Parameter floors: The beginnings of the paths of files, from the bottom up.
    private func uses(of folder: String, _ floors: [[String]]) throws -> [String] {
        let sources = try Package.files(under: folder, named: ".swift")
            .filter { !$0.path.contains(".docc") }.map { try Source($0) }
        func floor(_ source: Source) -> Int? {
            let path = source.path.dropFirst(folder.count + 1)
            return floors.firstIndex { $0.contains { path.hasPrefix($0) } }
        }
        var places: [String: Set<Int>] = [:]
        for source in sources {
            let floor = try #require(floor(source), "\(source.path) is on no floor")
            for name in source.declared { places[name, default: []].insert(floor) }
        }
        let above = places.compactMapValues { $0.count == 1 ? $0.first : nil }
        return sources.flatMap { source in
            source.mentioned.compactMap { name in
                guard let place = above[name], let own = floor(source), place > own else { return nil }
                return "\(source.path) uses \(name)"
            }
        }
        .sorted()
    }

    @Test("The engine's floors use those below them only")
    func engine() throws {
        let floors = [
            ["Values/"], ["Links/"], ["Loop/"], ["Waiting/"],
            ["CancelPlace", "Cancelling", "EndOfLife", "Inspection"],
        ]
        #expect(try uses(of: "Sources/Deferred/Engine", floors) == [])
    }

    @Test("The floors of transfers use those below them only")
    func transfers() throws {
        let floors = [
            [
                "HTTP/", "Operations/DataSourceError", "Operations/Locked", "Files/PartFile",
                "Files/ByteQueue",
            ],
            [
                "Uploads/", "Transfers/TransferOptions", "Transfers/TransferProgress",
                "Transfers/TransferMetrics",
                "Transfers/TransferRedirect", "Transfers/AuthenticationChallenge", "Transport/TransportEvent",
            ],
            ["Transport/TransportExchange", "Transport/Transport.swift"],
            ["Transport/", "Transfers/TransferSession"],
            [
                "Transfers/TransferSink", "Transfers/TransferState", "Transfers/TransportFailure",
                "Transfers/TransferSilence",
            ],
            ["Transfers/Transfer.swift", "Transfers/TransferBody", "Transfers/URLRequest+Checking"],
            ["Operations/", "Scheduling/", "Transfers/TransferDataSource"],
            ["Transfers/", "Files/", "Streams/"],
        ]
        #expect(try uses(of: "Sources/DeferredOperations", floors) == [])
    }
}
