import Foundation

/// The public interface of a module: its own declarations, without those that the standard library adds.
struct Interface {
    private typealias Symbol = SymbolGraph.Symbol

    private let module: String
    private let symbols: [Symbol]
    private let relationships: [SymbolGraph.Relationship]
    private let byIdentifier: [String: Symbol]

    init(_ graph: SymbolGraph) {
        let declared = Set(graph.symbols.map(\.identifier.precise))
        module = graph.module.name
        // Members that a type inherits from an underscored protocol of the module appear in the graph only as
        // members of the type.
        symbols = graph.symbols.filter { symbol in
            guard let base = symbol.baseIdentifier else { return true }
            return symbol.docComment?.module == graph.module.name && !declared.contains(base)
        }
        relationships = graph.relationships
        byIdentifier = Dictionary(
            graph.symbols.map { ($0.identifier.precise, $0) }, uniquingKeysWith: { first, _ in first })
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

    /// The declarations, sorted. Conformances to protocols that every type conforms to are left out.
    var declarations: [String] {
        let implied: Set = ["Copyable", "Escapable", "BitwiseCopyable", "SendableMetatype"]
        let conformances = relationships.filter { ["conformsTo", "inheritsFrom"].contains($0.kind) }
            .compactMap { relationship -> String? in
                let target =
                    byIdentifier[relationship.target]?.pathComponents.joined(separator: ".")
                    ?? relationship.targetFallback.map(Self.withoutModule) ?? relationship.target
                if implied.contains(target) { return nil }
                guard let source = name(ofSource: relationship.source) else { return nil }
                return "extension \(source): \(target)"
            }
        return Set(symbols.map(declaration) + conformances).sorted()
    }

    private func name(ofSource identifier: String) -> String? {
        if let symbol = byIdentifier[identifier] { return symbol.pathComponents.joined(separator: ".") }
        // A type of another module: its members in this graph contain its name.
        let member = relationships.first { $0.kind == "memberOf" && $0.target == identifier }
        guard let member, let symbol = byIdentifier[member.source] else { return nil }
        return symbol.pathComponents.dropLast().joined(separator: ".")
    }

    private func declaration(_ symbol: Symbol) -> String {
        let text = symbol.declarationFragments.map(\.spelling).joined()
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let shown = symbol.accessLevel == "open" ? "open \(text)" : text
        let parent = symbol.pathComponents.dropLast().joined(separator: ".")
        if parent.isEmpty { return shown }
        return "extension \(parent)\(constraints(of: symbol)) { \(shown) }"
    }

    /// Returns the constraints of the extension that are not those of its type.
    private func constraints(of symbol: Symbol) -> String {
        let parents = relationships.filter {
            $0.source == symbol.identifier.precise && $0.kind == "memberOf"
        }.compactMap { byIdentifier[$0.target] }
        let known = Set(parents.flatMap { $0.swiftGenerics?.constraints ?? [] })
        let own = (symbol.swiftExtension?.constraints ?? []).filter { !known.contains($0) }
        if own.isEmpty { return "" }
        let words = own.map { "\($0.lhs) \($0.kind == "sameType" ? "==" : ":") \($0.rhs)" }
        return " where " + words.joined(separator: ", ")
    }

    private static func withoutModule(_ name: String) -> String {
        guard let dot = name.firstIndex(of: ".") else { return name }
        return String(name[name.index(after: dot)...])
    }
}

extension SymbolGraph.Symbol {
    /// The identifier of the protocol's member, if the compiler copied this member from a protocol to a type.
    fileprivate var baseIdentifier: String? {
        guard let mark = identifier.precise.range(of: "::SYNTHESIZED::") else { return nil }
        return String(identifier.precise[..<mark.lowerBound])
    }
}
