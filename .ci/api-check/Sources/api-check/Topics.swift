import Foundation

/// The part that is used of a page that docc has written.
private struct Page: Decodable {
    struct TopicSection: Decodable {
        let title: String?
        let generated: Bool?
        let identifiers: [String]
    }
    let topicSections: [TopicSection]?
}

/// Returns the symbols that no topic lists, although their page has topics, in the archives of a folder. The page
/// of a module always has topics. Members that a type inherits from another module's protocol need none.
func symbolsWithoutTopic(in archives: URL) throws -> [String] {
    let files = FileManager.default.enumerator(at: archives, includingPropertiesForKeys: nil)
    return try (files?.compactMap { $0 as? URL } ?? [])
        .filter { $0.pathExtension == "json" && $0.path.contains("/data/documentation/") }
        .flatMap { file -> [String] in
            let page = try JSONDecoder().decode(Page.self, from: Data(contentsOf: file))
            let sections = page.topicSections ?? []
            let isModule = file.deletingLastPathComponent().lastPathComponent == "documentation"
            guard isModule || sections.contains(where: { $0.generated != true }) else { return [] }
            return sections.filter { $0.generated == true && $0.title != "Default Implementations" }
                .flatMap(\.identifiers)
        }.sorted()
}
