import Testing

@Suite(.timeLimit(.minutes(20)))
struct DemoTests {
    @Test("--demo tells its story, ends with the waterfall and leaves nothing")
    func demo() async throws {
        let fetch = try FetchProgram()
        let outcome = try await fetch.run("--demo")
        #expect(outcome.status == 0, "\(outcome.errors)")
        for chapter in 1...5 { #expect(outcome.text.contains("\n\(chapter). ")) }
        #expect(outcome.text.contains("Errback: 404 Not Found"))
        #expect(
            outcome.text.contains(
                "Cancelled. In the folder: a.jpg, b.jpg, c.jpg, copy.txt, flaky.bin, index.json, near.iso."))
        #expect(outcome.text.contains("endless.log"))
        // The third chapter announces two more tries.
        #expect(outcome.errors.contains("503 Service Unavailable; again in "))
        #expect(outcome.errors.contains(", 2 tries left\n"), "\(outcome.errors)")
        #expect(outcome.errors.contains(", the last try\n") && !outcome.errors.contains("3 tries left"))
        #expect(outcome.errorLines.last?.hasPrefix("7 of 10 fetched") == true)
        #expect(fetch.files().isEmpty)
    }

    @Test("--demo keeps its files, draws its picture and writes its trace where that is wanted")
    func kept() async throws {
        let fetch = try FetchProgram()
        let outcome = try await fetch.run("--demo", "-d", "kept", "--waterfall", "w.svg", "--trace", "t.json")
        #expect(outcome.status == 0)
        #expect(fetch.files() == ["kept", "t.json", "w.svg"])
        #expect(fetch.text("t.json")?.contains("traceEvents") == true)
        #expect(fetch.files("kept").count == 7)
    }
}
