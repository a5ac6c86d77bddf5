import TestSupport
import Testing

@Suite(.watchdog(atOnce: .few))
struct DemoTests {
    let fetch = FetchProgram()

    @Test("--demo shows chain, recovery, retry, list and cancelling, then the waterfall, and leaves nothing")
    func demo() async throws {
        let outcome = try await fetch.run("--demo", status: 0, leaving: [])
        // In this order.
        var rest = outcome.text[...]
        for words in [
            "\n1. ", "All 3 are here, in the order of the index.", "\n2. ",
            "Errback: \"404 Not Found\". Fetching the copy instead.", "\n3. ", "\n4. ",
            "The winner is near.iso.",
            "\n5. ", "Errback: cancelled",
            "Finalizer, after all callbacks: 7 files in the folder, all of them whole.", "endless.log",
        ] {
            let range = try #require(rest.range(of: words), "\(words)")
            rest = rest[range.upperBound...]
        }
        // Two more attempts after the first.
        for words in ["503 Service Unavailable; again in ", ", 2 tries left\n", ", the last try\n"] {
            #expect(outcome.errors.contains(words), "\(outcome.errors)")
        }
        #expect(!outcome.errors.contains("3 tries left"))
        #expect(outcome.errorLines.last?.hasPrefix("7 of 10 fetched") == true)
        for line in outcome.errorLines + outcome.text.split(separator: "\n").map(String.init) {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test("--demo takes -d, --waterfall and --trace")
    func kept() async throws {
        try await fetch.run(
            "--demo", "-d", "kept", "--waterfall", "w.svg", "--trace", "t.json", status: 0,
            leaving: ["kept", "t.json", "w.svg"])
        #expect(fetch.text("t.json")?.contains("traceEvents") == true && fetch.files("kept").count == 7)
    }
}
