import Foundation
import Testing

/// Checks that the picture of a chain, in both of its versions, shows the code of the article TheChain.md.
@Suite struct PicturesTests {
    @Test("Pictures: the steps in the picture of a chain are those of the article", arguments: ["", "~dark"])
    func chain(version: String) throws {
        let articles = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/Deferred/Deferred.docc")
        let picture = try String(
            contentsOf: articles.appending(path: "Resources/chain\(version).svg"), encoding: .utf8)
        let article = try String(contentsOf: articles.appending(path: "TheChain.md"), encoding: .utf8)
        let steps = picture.matches(of: #/class="code">([^<]*\{[^<]*)</#).map { String($0.output.1) }
        #expect(steps.count == 5)
        for step in steps { #expect(article.contains(step), "not in TheChain.md: \(step)") }
    }
}
