import Foundation

/// The public interface of a module: its own declarations, without those that the standard library adds.
struct Interface {
    private typealias Symbol = SymbolGraph.Symbol

    private let module: String
    private let symbols: [Symbol]

    init(_ graph: SymbolGraph) {
        let declared = Set(graph.symbols.map(\.identifier.precise))
        module = graph.module.name
        // Members that a type inherits from an underscored protocol of the module appear in the graph only as
        // members of the type.
        symbols = graph.symbols.filter { symbol in
            guard let base = symbol.baseIdentifier else { return true }
            return symbol.docComment?.module == graph.module.name && !declared.contains(base)
        }
    }

    /// Returns the declarations that have no doc comment of their own, each with its location.
    func undocumented(relativeTo root: String) -> [String] {
        symbols.filter { $0.docComment?.module != module }
            .map { "\(place(of: $0, root)) has no doc comment" }.sorted()
    }

    /// Returns the functions whose page in the reference does not describe their parameter `on:` or
    /// `deliveringOn:`. Overloads of one name share a page, so one description is enough.
    func withoutDispatcher(relativeTo root: String) -> [String] {
        let functions = symbols.filter { symbol in
            ["on:", "deliveringOn:"].contains { label in
                symbol.names.title.contains("(\(label)") || symbol.names.title.contains(":\(label)")
            }
        }
        return Dictionary(grouping: functions, by: \.pathComponents).values
            .filter { overloads in
                let texts = overloads.flatMap { $0.docComment?.lines?.map(\.text) ?? [] }
                return !texts.contains { $0.contains("dispatcher:") || $0.contains("main actor") }
            }
            .compactMap(\.first).map { "\(place(of: $0, root)) does not say what on: is" }.sorted()
    }

    private func place(of symbol: Symbol, _ root: String) -> String {
        let name = symbol.pathComponents.joined(separator: ".")
        guard let location = symbol.location else { return "\(module): \(name)" }
        let path = URL(string: location.uri)?.path ?? location.uri
        let shown = path.hasPrefix(root) ? String(path.dropFirst(root.count + 1)) : path
        return "\(shown):\(location.position.line + 1): \(name)"
    }
}

extension SymbolGraph.Symbol {
    /// The identifier of the protocol's member, if the compiler copied this member from a protocol to a type.
    fileprivate var baseIdentifier: String? {
        guard let mark = identifier.precise.range(of: "::SYNTHESIZED::") else { return nil }
        return String(identifier.precise[..<mark.lowerBound])
    }
}
