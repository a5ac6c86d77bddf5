import LoopbackServer

/// The server of `--demo`: slow enough to watch, and with faults.
enum DemoServer {
    static func start() throws -> LoopbackServer {
        let server = try LoopbackServer()
        let index = #"["a.jpg", "b.jpg", "c.jpg"]"#
        server.route("/index.json", .delayed(milliseconds: 80, then: .json(index)))
        server.route("/a.jpg", .drip(900_000, atOnce: 60_000, everyMilliseconds: 25))
        server.route("/b.jpg", .drip(1_500_000, atOnce: 150_000, everyMilliseconds: 60))
        let slow = Answer.drip(500_000, atOnce: 50_000, everyMilliseconds: 20)
        server.route("/c.jpg", .delayed(milliseconds: 150, then: slow))
        // "original.txt" does not exist.
        server.route("/copy.txt", .delayed(milliseconds: 60, then: .text("the copy\n")))
        server.route("/flaky.gz", .status(503), .truncated(after: 6_000, of: 20_000), .pattern(20_000))
        server.route("/near.iso", .drip(800_000, atOnce: 100_000, everyMilliseconds: 30))
        server.route("/far.iso", .drip(800_000, atOnce: 2_000, everyMilliseconds: 30))
        server.route("/endless.log", .endlessDrip(atOnce: 100_000, everyMilliseconds: 20))
        return server
    }
}
