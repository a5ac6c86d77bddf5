import Deferred
import DeferredTesting
import Dispatch
import Foundation
import Testing

@Suite struct ErrorsAndDiagnosticsTests {
    let journal = Journal()

    @Test("Errors: of one type, and of any")
    func kinds() {
        func run(_ fetchPage: () -> Deferred<String>, show: @escaping @Sendable (String) -> Void) {
            fetchPage()
                .fail(NotFound.self) { _ in "empty page" }  // this type; others pass
                .fail { error in "could not load: \(error)" }  // any error
                .then { show($0) }
        }
        run({ .resolved("page") }, show: journal.write)
        run({ .rejected(NotFound()) }, show: journal.write)
        run({ .rejected(Refused()) }, show: journal.write)
        #expect(journal.all == ["page", "empty page", "could not load: refused"])
    }

    @Test("Errors: a forgotten callback")
    func forgotten() {
        let print: @Sendable (String) -> Void = journal.write
        @Sendable func readFile(_ name: String, _ completion: @Sendable (String?) -> Void) { completion(nil) }
        func load(_ name: String) -> Deferred<String> {
            Deferred { resolver in
                readFile(name) { text in
                    if let text { resolver.resolve(text) }  // and otherwise nothing
                }
            }
        }

        load("missing").fail { "\($0)" }.then { print($0) }
        // abandoned: nothing is left that could fire this Deferred
        #expect(journal.all == ["abandoned: nothing is left that could fire this Deferred"])
    }

    /// It sets what is the whole process's, so it is only compiled, and never run beside other tests.
    func setHandler(log: Journal) {
        DeferredDiagnostics.setHandler { diagnostic in log.write("\(diagnostic)") }
    }

    @Test("Diagnostics: for one scope")
    func scope() throws {
        let log = journal
        DeferredDiagnostics.withHandler { diagnostic in
            log.write("\(diagnostic)")
        } _: {
            let page = Deferred<String>()
            page.resolve("one")
            page.resolve("two")
        }
        let line = try #require(journal.all.first)
        #expect(journal.all.count == 1)
        #expect(line.contains("the second result was dropped"))
    }

    @Test("Diagnostics: a pending chain says what it waits for")
    func description() throws {
        let print: @Sendable (String) -> Void = journal.write
        let page = Deferred<String>()
        print("\(page.then { $0.count })")
        let line = try #require(journal.all.first)
        #expect(line.hasPrefix("Deferred<Int>: "))
        #expect(line.contains("ErrorsAndDiagnosticsTests.swift"))
        page.resolve("")
    }

    @Test("Diagnostics: the debug description of a list says what each input waits for")
    func debugDescription() throws {
        let print: @Sendable (String) -> Void = journal.write
        let page = Deferred<String>()
        let disk = DispatchQueue(label: "disk")
        disk.suspend()
        let cover = Deferred.resolved("cover").then(on: disk) { $0 }
        print(DeferredList([page, cover]).values().debugDescription)
        // Deferred<Array<String>>: waits for 2 of a list of 2 (list, made at App/Book.swift:14)
        //   0: waits to be fired (Deferred(), made at App/Book.swift:11)
        //   1: its callback waits on its dispatcher, disk (then, made at App/Book.swift:12)
        disk.resume()
        let lines = try #require(journal.all.first).split(separator: "\n")
        let documented = [
            "Deferred<Array<String>>: waits for 2 of a list of 2 (list, made at ",
            "  0: waits to be fired (Deferred(), made at ",
            "  1: its callback waits on its dispatcher, disk (then, made at ",
        ]
        #expect(lines.count == 3)
        for (line, start) in zip(lines, documented) { #expect(line.hasPrefix(start)) }
        page.resolve("")
    }

    @Test("Diagnostics: a run is recorded, and shown as a trace and as a graph")
    func recording() async throws {
        let print: @Sendable (String) -> Void = journal.write
        let traceFile = FileManager.default.temporaryDirectory.appending(path: "trace-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: traceFile) }
        @Sendable func fetchPage(at path: String) -> Deferred<String> { .resolved("<html>") }
        let recording = DeferredDiagnostics.startRecording()
        let length = fetchPage(at: "/index").then { $0.count }
        _ = try await length.value
        recording.stop()

        try recording.chromeTrace().write(to: traceFile, atomically: true, encoding: .utf8)
        print(recording.mermaidGraph())

        #expect(journal.all.first?.contains("ErrorsAndDiagnosticsTests.swift") == true)
        let trace = try JSONSerialization.jsonObject(with: Data(contentsOf: traceFile)) as? [String: Any]
        #expect(trace?["traceEvents"] is [Any])
    }
}
