import Foundation

/// The part that is used of a `*.symbols.json`, as `swift package dump-symbol-graph` writes it.
struct SymbolGraph: Decodable {
    struct Module: Decodable {
        let name: String
    }

    struct Symbol: Decodable {
        struct Identifier: Decodable {
            let precise: String
        }
        struct DocComment: Decodable {
            struct Line: Decodable {
                let text: String
            }
            let module: String?
            let lines: [Line]?
        }
        struct Names: Decodable {
            let title: String
        }
        struct Location: Decodable {
            struct Position: Decodable {
                let line: Int
            }
            let uri: String
            let position: Position
        }

        let identifier: Identifier
        let names: Names
        let pathComponents: [String]
        let docComment: DocComment?
        let location: Location?
    }

    let module: Module
    var symbols: [Symbol]

    /// Reads the graph of a module, including its extensions of other modules' types
    /// (`Module@Other.symbols.json`).
    init(of module: String, in folder: URL) throws {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter {
                let name = $0.lastPathComponent
                return name == "\(module).symbols.json"
                    || (name.hasPrefix("\(module)@") && name.hasSuffix(".symbols.json"))
            }
            .sorted { $0.path < $1.path }
        let graphs = try files.map {
            try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: $0))
        }
        guard var whole = graphs.first(where: { !$0.symbols.isEmpty }) else {
            throw Failure("no symbol graph of \(module) in \(folder.path)")
        }
        whole.symbols = graphs.flatMap(\.symbols)
        self = whole
    }
}

/// The reason why the check was impossible.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
