import Testing

@Suite(.timeLimit(.minutes(5)))
struct DemoTests {
    @Test("--demo shows chain, recovery, retry, list and cancelling, then the waterfall, and leaves nothing")
    func demo() async throws {
        let fetch = try FetchProgram()
        let outcome = try await fetch.run("--demo", status: 0)
        for chapter in 1...5 { #expect(outcome.text.contains("\n\(chapter). ")) }
        #expect(outcome.text.contains("All 3 are here, in the order of the index."))
        #expect(outcome.text.contains("Errback: \"404 Not Found\". Fetching the copy instead."))
        #expect(outcome.text.contains("The winner is near.iso."))
        let errback = try #require(outcome.text.range(of: "Errback: cancelled"))
        let finalizer = try #require(
            outcome.text.range(
                of: "Finalizer, after all callbacks: 7 files in the folder, all of them whole."))
        #expect(errback.upperBound < finalizer.lowerBound)
        #expect(outcome.text.contains("endless.log"))
        // Two more attempts after the first.
        #expect(outcome.errors.contains("503 Service Unavailable; again in "))
        #expect(outcome.errors.contains(", 2 tries left\n"), "\(outcome.errors)")
        #expect(outcome.errors.contains(", the last try\n") && !outcome.errors.contains("3 tries left"))
        #expect(outcome.errorLines.last?.hasPrefix("7 of 10 fetched") == true)
        #expect(fetch.files().isEmpty)
        for line in outcome.errorLines + outcome.text.split(separator: "\n").map(String.init) {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test("--demo takes -d, --waterfall and --trace")
    func kept() async throws {
        let fetch = try FetchProgram()
        try await fetch.run("--demo", "-d", "kept", "--waterfall", "w.svg", "--trace", "t.json", status: 0)
        #expect(fetch.files() == ["kept", "t.json", "w.svg"])
        #expect(fetch.text("t.json")?.contains("traceEvents") == true)
        #expect(fetch.files("kept").count == 7)
    }
}
