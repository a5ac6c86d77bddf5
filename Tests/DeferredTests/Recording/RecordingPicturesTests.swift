import Deferred
import DeferredTesting
import DeferredTracing
import Foundation
import TestSupport
import Testing

@Suite("Recording: the trace and the graph", .serialized, .watchdog)
struct RecordingPicturesTests {
    /// An error description with markup and control characters.
    private struct Hostile: Error, CustomStringConvertible {
        var description: String {
            "\"];\n end %%{init}%% `x` <b>&#35;</b> \u{1} \\ \u{2028} style:#f00; ---> 😀 ü {{[(|"
        }
    }

    /// The location of the first Deferred of `run`.
    private static let firstLine = #line + 6

    /// A chain with every kind of link, on `clock`.
    private func run(_ clock: ManualClock) -> DeferredRecording {
        let recording = Recorded.recording(by: clock)
        let dispatcher = ManualDispatcher()
        let source = Deferred<Int>()
        let nested = source.then { _ in Deferred.after(.milliseconds(250), timer: clock, value: 1) }
        let failed = nested.map { _ -> Int in throw Rules.Boom(1) }
        let list = DeferredList([nested, failed]).results()
        let dispatched = failed.recover(on: dispatcher) { _ in 0 }
        clock.advance(by: .milliseconds(2))
        source.resolve(1)
        clock.advance(by: .seconds(1))
        recording.stop()
        dispatcher.dropAll()
        _ = dispatched.currentResult
        Rules.keep(list)
        return recording
    }

    @Test("Graph: a box for each Deferred, with place, outcome and time; arrows the way results went")
    func graph() {
        let lines = run(ManualClock()).mermaidGraph().split(separator: "\n").map(String.init)
        let first = Self.firstLine
        let file = "RecordingPicturesTests.swift"
        #expect(
            lines == [
                "flowchart TD",
                "    d1([\"Deferred() \(file):\(first) <br/> value after 2 ms\"])",
                "    d2[\"then \(file):\(first + 1) <br/> value after 252 ms\"]",
                "    d3[\"map \(file):\(first + 2) <br/> failure after 252 ms#58; Boom(id#58; 1)\"]:::failed",
                "    d4{{\"list \(file):\(first + 3) <br/> value after 252 ms\"}}",
                """
                    d5["recover \(file):\(first + 4) <br/> pending for 1 s, its callback waits on \
                ManualDispatcher"]:::pending
                """,
                "    d6([\"after \(file):\(first + 1) <br/> value after 250 ms\"])",
                "    d1 --> d2", "    d6 -. nested .-> d2", "    d2 --> d3", "    d2 --> d4", "    d3 --> d4",
                "    d3 --> d5",
                "    classDef failed stroke:#d3302f,stroke-width:2px",
                "    classDef cancelled stroke:#6b7380", "    classDef pending stroke-dasharray:4 3",
            ])
    }

    @Test("Trace: what a Deferred waits for at one time lies in one another, and ends in reverse")
    func nestedSpans() throws {
        let recording = Recorded.recording(by: ManualClock())
        let first = Deferred<Int>()
        let second = Deferred<Int>()
        let follower = Deferred<Int>()
        follower.follow(first)
        follower.follow(second)
        second.resolve(1)
        first.resolve(2)
        recording.stop()
        let spans = try Recorded.check(trace: recording.chromeTrace())
            .filter { $0["id"] as? Int == 3 && $0["cat"] as? String == "deferred" }
            .compactMap { $0["name"] as? String }
        #expect(spans.count == 6)
        #expect(spans == spans.reversed())
    }

    @Test("Trace: threads, callbacks, arrows and spans, as consistent JSON")
    func trace() throws {
        let events = try Recorded.check(trace: run(ManualClock()).chromeTrace())
        let first = Self.firstLine
        func names(_ phase: String) -> [String] {
            events.filter { $0["ph"] as? String == phase }.compactMap { $0["name"] as? String }
        }
        #expect(names("M") == ["process_name", "thread_name"])
        let file = "RecordingPicturesTests.swift"
        #expect(
            names("X") == [
                "complete Deferred() \(file):\(first)", "then \(file):\(first + 1)",
                "complete after \(file):\(first + 1)", "map \(file):\(first + 2)",
            ])
        // From the source's completion to its callback, and from that of the delay to the next.
        #expect(names("s").count == 2 && names("f").count == 2)
        #expect(names("b").count == 8)
        let nested = try #require(
            events.first {
                $0["ph"] as? String == "b"
                    && $0["name"] as? String == "waits for after \(file):\(first + 1) (6)"
            })
        #expect(Int(try #require(nested["ts"] as? Double)) == 2000)
    }

    @Test("Trace: an arrow from another thread leads to what a dispatcher runs")
    func arrows() throws {
        let recording = DeferredDiagnostics.startRecording(madeIn: [#fileID])
        let dispatcher = ManualDispatcher()
        let source = Deferred<Int>()
        source.map { $0 }.done(on: dispatcher) { _ in }.done {}
        source.resolve(1)
        Rules.onThread { dispatcher.run() }
        recording.stop()
        let events = try Recorded.check(trace: recording.chromeTrace())
        let starts = events.filter { $0["ph"] as? String == "s" }
        let ends = events.filter { $0["ph"] as? String == "f" }
        #expect(starts.count == 3 && ends.count == 3)
        #expect(starts[1]["tid"] as? Int != ends[1]["tid"] as? Int)
        #expect(events.contains { $0["name"] as? String == "waits on ManualDispatcher" })
    }

    @Test("Trace and graph: an error's text, whatever it is, is valid in both")
    func hostile() throws {
        let clock = ManualClock()
        let recording = Recorded.recording(by: clock)
        _ = Rules.reports { Deferred<Int>().reject(Hostile()) }
        Deferred<Int>.rejected(Hostile()).fail { _ -> Void in }
        recording.stop()
        let events = try Recorded.check(trace: recording.chromeTrace())
        let outcomes = events.compactMap { ($0["args"] as? [String: Any])?["outcome"] as? String }
        #expect(outcomes.contains("failure: \(Hostile())"))
        let graph = recording.mermaidGraph()
        let boxes = graph.split(separator: "\n").filter { $0.hasPrefix("    d") && $0.contains("failure") }
        #expect(boxes.count == 2)
        for box in boxes {
            #expect(box.count { $0 == "\"" } == 2)
            let label = box.split(separator: "\"")[1].replacing("<br/>", with: "")
            #expect(!label.contains { "`%<>&{}[]|;".contains($0) && $0 != ";" })
            #expect(label.contains("😀 ü"))
        }
    }

    @Test("Trace and graph: of nothing they are empty, and valid; of what is pending yet they say so")
    func emptyAndPending() throws {
        let recording = DeferredDiagnostics.startRecording(madeIn: [#fileID])
        #expect(try Recorded.check(trace: recording.chromeTrace()).count == 1)
        #expect(recording.mermaidGraph().hasPrefix("flowchart TD\n"))
        let source = Deferred<Int>()
        let nested = Deferred.resolved(1).then { _ in source }
        let handed = Deferred.resolved(1).then(on: ManualDispatcher()) { _ in nested }
        let graph = recording.mermaidGraph()
        #expect(graph.contains("waits for a nested Deferred\"]:::pending"))
        #expect(try Recorded.check(trace: recording.chromeTrace()).count > 4)
        Rules.keep(source, nested, handed)
    }
}
