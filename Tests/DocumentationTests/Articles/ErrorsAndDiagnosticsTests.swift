import Deferred
import DeferredTesting
import DeferredTracing
import Dispatch
import Foundation
import TestSupport
import Testing

@Suite struct ErrorsAndDiagnosticsTests {
    let eventLog = SharedLog<String>()

    @Test("Errors: of one type, and of any")
    func kinds() {
        func run(_ fetchPage: () -> Deferred<String>, show: @escaping @Sendable (String) -> Void) {
            fetchPage()
                .recover(NotFound.self) { _ in "empty page" }  // this type; others pass
                .recover { error in "could not load: \(error)" }  // any error
                .done { show($0) }
        }
        run({ .resolved("page") }, show: eventLog.add)
        run({ .rejected(NotFound()) }, show: eventLog.add)
        run({ .rejected(Refused()) }, show: eventLog.add)
        #expect(eventLog.all == ["page", "empty page", "could not load: refused"])
    }

    @Test("Errors: a forgotten callback")
    func forgotten() {
        let print: @Sendable (String) -> Void = eventLog.add
        @Sendable func readFile(_ name: String, _ completion: @Sendable (String?) -> Void) { completion(nil) }
        func load(_ name: String) -> Deferred<String> {
            Deferred { resolver in
                readFile(name) { text in
                    if let text { resolver.resolve(text) }  // and otherwise nothing
                }
            }
        }

        load("missing").recover { "\($0)" }.done { print($0) }
        // abandoned: nothing is left that could complete this Deferred
        #expect(eventLog.all == ["abandoned: nothing is left that could complete this Deferred"])
    }

    /// Compiled but not run: the handler is the whole process's, and parallel tests would see it.
    func setHandler(log: SharedLog<String>) {
        DeferredDiagnostics.setHandler { diagnostic in log.write("\(diagnostic)") }
    }

    @Test("Diagnostics: for one scope")
    func scope() throws {
        let log = eventLog
        DeferredDiagnostics.withHandler { diagnostic in
            log.write("\(diagnostic)")
        } _: {
            let page = Deferred<String>()
            page.resolve("one")
            page.resolve("two")
        }
        let line = try #require(eventLog.all.first)
        #expect(eventLog.all.count == 1)
        #expect(line.contains("was completed before"))
    }

    @Test("Diagnostics: a function that passes its caller's location on")
    func location() throws {
        @Sendable func fetchPage() -> Deferred<String> { Deferred() }
        func fetchTitle(
            fileID: StaticString = #fileID, line: UInt = #line
        ) -> Deferred<String> {
            fetchPage().map({ String($0.prefix(10)) }, fileID: fileID, line: line)
        }
        let title = fetchTitle(fileID: "App/Titles.swift", line: 7)
        #expect(title.description.contains("App/Titles.swift:7"))
    }

    @Test("Diagnostics: a pending chain says what it waits for")
    func description() throws {
        let print: @Sendable (String) -> Void = eventLog.add
        let page = Deferred<String>()
        print("\(page.map { $0.count })")
        let line = try #require(eventLog.all.first)
        #expect(line.hasPrefix("Deferred<Int>: "))
        #expect(line.contains("ErrorsAndDiagnosticsTests.swift"))
        page.resolve("")
    }

    @Test("Diagnostics: the debug description of a list says what each input waits for")
    func debugDescription() throws {
        let print: @Sendable (String) -> Void = eventLog.add
        let page = Deferred<String>()
        let disk = DispatchQueue(label: "disk")
        disk.suspend()
        let cover = Deferred.resolved("cover").map(on: disk) { $0 }
        print(DeferredList([page, cover]).values().debugDescription)
        // Deferred<Array<String>>: waits for 2 of a list of 2 (list, made at App/Book.swift:14)
        //   0: waits to be fired (Deferred(), made at App/Book.swift:11)
        //   1: its callback waits on its dispatcher, disk (map, made at App/Book.swift:12)
        disk.resume()
        let lines = try #require(eventLog.all.first).split(separator: "\n")
        let documented = [
            "Deferred<Array<String>>: waits for 2 of a list of 2 (list, made at ",
            "  0: waits to be fired (Deferred(), made at ",
            "  1: its callback waits on its dispatcher, disk (map, made at ",
        ]
        #expect(lines.count == 3)
        for (line, start) in zip(lines, documented) { #expect(line.hasPrefix(start)) }
        page.resolve("")
    }

    @Test("Diagnostics: a run is recorded, and shown as a trace and as a graph", .ownThreads)
    func recording() async throws {
        let print: @Sendable (String) -> Void = eventLog.add
        let traceFile = FileManager.default.temporaryDirectory.appending(path: "trace-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: traceFile) }
        @Sendable func fetchPage(at path: String) -> Deferred<String> { .resolved("<html>") }
        let recording = DeferredDiagnostics.startRecording()
        let length = fetchPage(at: "/index").map { $0.count }
        _ = try await length.value
        recording.stop()

        try recording.chromeTrace().write(to: traceFile, atomically: true, encoding: .utf8)
        print(recording.mermaidGraph())

        #expect(eventLog.all.first?.contains("ErrorsAndDiagnosticsTests.swift") == true)
        let trace = try JSONSerialization.jsonObject(with: Data(contentsOf: traceFile)) as? [String: Any]
        #expect(trace?["traceEvents"] is [Any])
    }
}
