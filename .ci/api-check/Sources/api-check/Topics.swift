import Foundation

/// What is read of a page that docc has written.
private struct Page: Decodable {
    struct TopicSection: Decodable {
        let title: String?
        let generated: Bool?
        let identifiers: [String]
    }
    let topicSections: [TopicSection]?
}

/// The symbols that a page with topics leaves to docc to put somewhere, in the archives of a folder; the page
/// of a module has topics. What a type has from a protocol of another module is docc's to show.
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
