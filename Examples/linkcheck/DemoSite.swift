import LoopbackServer

/// A small site in this process, with a page that is busy at first and a link that leads nowhere.
enum DemoSite {
    static func start() throws -> LoopbackServer {
        let server = try LoopbackServer()
        func page(_ links: String...) -> Answer {
            let body = links.map { "<a href=\"\($0)\">\($0)</a>\n" }.joined()
            return .text(body, headers: [("Content-Type", "text/html")])
        }
        server.route("/", page("/guide", "/news", "/missing"))
        server.route("/guide", .unavailable(retryAfter: "0"), page("/", "/guide/2"))
        server.route("/guide/2", .redirect(to: "/guide"))
        server.route("/news", .delayed(milliseconds: 300, then: page("/news/archive", "/guide")))
        server.route("/news/archive", page("/"))
        return server
    }
}
