import Deferred
import DeferredTesting
import DeferredTracing
import Foundation
import Testing

/// Shared by the tests of recordings. Each test records only Deferreds created in its own file, and its suite
/// is serialised, since other tests of this process run at the same time.
enum Recorded {
    /// Runs `body` while Deferreds created in the caller's file are recorded.
    static func events(
        limit: Int = 100_000, fileID: String = #fileID, _ body: () throws -> Void
    ) rethrows -> [DeferredRecording.Event] {
        try DeferredDiagnostics.withRecording(limit: limit, madeIn: [fileID]) { recording in
            try body()
            recording.stop()
            return recording.events()
        }
    }

    /// A recording whose times come from `clock`.
    static func recording(
        by clock: ManualClock, limit: Int = 100_000, fileID: String = #fileID
    ) -> DeferredRecording {
        DeferredRecording(limit: limit, madeIn: [fileID]) { clock.elapsed }
    }

    /// Describes an event in a few words: `1 made`, `2 attached to 1`.
    static func words(_ event: DeferredRecording.Event) -> String {
        let action = event.action
        let text =
            switch action.kind {
            case .made: "made by \(event.origin)"
            case .attached: "\(event.origin) of \(action.other ?? 0)"
            case .began: "\(action.activity?.description ?? "") begins"
            case .ended: "ends"
            case .dispatched: "to \(action.queue ?? "")"
            case .waits: "waits for \(action.other ?? 0)"
            case .follows: "follows \(action.other ?? 0)"
            case .bypassed: "bypassed by \(action.other ?? 0)"
            case .settled: words(action.outcome)
            default: action.kind.description
            }
        return "\(event.deferred) \(text)"
    }

    private static func words(_ outcome: DeferredRecording.Outcome?) -> String {
        switch outcome {
        case .failure(let text): "failure \(text)"
        case .cancelled: "cancelled"
        case .value: "value"
        case nil: "no outcome"
        }
    }

    /// Checks the invariants of every recording.
    static func check(_ events: [DeferredRecording.Event], _ comment: Comment? = nil) {
        var time = Duration.zero
        var open: [Int: [Int]] = [:]
        var settled: Set<Int> = []
        var places: [Int: DeferredDiagnostic.Location] = [:]
        for event in events {
            #expect(event.time > time, comment)
            time = event.time
            #expect(places[event.deferred, default: event.made] == event.made, comment)
            places[event.deferred] = event.made
            switch event.action.kind {
            case .began: open[event.thread, default: []].append(event.deferred)
            case .ended:
                let begun = open[event.thread]?.popLast()
                #expect(begun == event.deferred, comment)
            case .settled:
                let isFirst = settled.insert(event.deferred).inserted
                #expect(isFirst, comment)
            default: break
            }
        }
    }

    /// Reads a trace as JSON, and checks the invariants of every trace.
    static func check(trace: String) throws -> [[String: Any]] {
        let whole = try #require(
            JSONSerialization.jsonObject(with: Data(trace.utf8)) as? [String: Any])
        let events = try #require(whole["traceEvents"] as? [[String: Any]])
        var open: [Int: [String]] = [:]
        var starts: [Int: [String: Any]] = [:]
        var isSorted = true
        var last = 0.0
        for event in events {
            let phase = try #require(event["ph"] as? String)
            #expect(event["name"] is String)
            if phase == "M" { continue }
            let time = try #require(event["ts"] as? Double)
            isSorted = isSorted && time >= last
            last = time
            let id = event["id"] as? Int ?? 0
            switch phase {
            case "X": #expect(try #require(event["dur"] as? Double) > 0)
            case "b": open[id, default: []].append(try #require(event["name"] as? String))
            case "e":
                let begun = open[id]?.popLast()
                #expect(begun != nil && begun == event["name"] as? String)
            case "s": starts[id] = event
            case "f":
                // An arrow leads from within one slice to the beginning of another.
                let begun = starts.removeValue(forKey: id)
                let start = try #require(begun)
                #expect(try #require(start["ts"] as? Double) <= time)
                #expect(Self.slice(around: start, in: events) != nil)
                #expect(Self.slice(around: event, in: events)?["ts"] as? Double == time)
            case "i": break
            default: Issue.record("no such phase: \(phase)")
            }
        }
        #expect(isSorted)
        #expect(starts.isEmpty && open.values.allSatisfy(\.isEmpty))
        return events
    }

    /// Returns the innermost complete event on the thread and at the time of `event`.
    private static func slice(around event: [String: Any], in events: [[String: Any]]) -> [String: Any]? {
        guard let time = event["ts"] as? Double, let thread = event["tid"] as? Int else { return nil }
        return events.last { slice in
            guard slice["ph"] as? String == "X", slice["tid"] as? Int == thread,
                let start = slice["ts"] as? Double, let duration = slice["dur"] as? Double
            else { return false }
            // Nanoseconds, which differ in fractions of a microsecond.
            return start <= time && time < start + duration + 0.000_1
        }
    }
}
